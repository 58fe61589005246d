import { LockMode, raw, UniqueConstraintViolationException } from '@mikro-orm/core';
import type { SqlEntityManager } from '@mikro-orm/sql';
import type { operations } from '../../generated/types/websites.ts';
import type { Limiters } from '../access/limiters.ts';
import { Invalid, NotFound, Refusal } from '../errors.ts';
import type { Handlers } from '../http/operations.ts';
import { pageLinks } from '../paging.ts';
import { InvalidDomain, normalDomain } from './domain.ts';
import { PasswordTrials } from './password-trials.ts';
import { type Website, WebsiteEntity } from './website.entity.ts';
import { countAll, findPage } from './website.pages.ts';
import { passwordNeeded } from './website.rules.ts';
import { settingsFrom } from './website.settings.ts';
import { websiteView } from './website.view.ts';

export function websiteHandlers({ maxWebsites, limiters }: { maxWebsites: number; limiters: Limiters }): Handlers<operations> {
  const passwordTrials = new PasswordTrials(limiters);

  return {
    async listWebsites({ query, url }, { asUser }) {
      const { websites, total } = await asUser((em) => findPage(em, query));
      const { page, per_page } = query;
      const lastPage = Math.max(1, Math.ceil(total / per_page));
      const from = (page - 1) * per_page + 1;
      return {
        body: {
          data: websites.map(websiteView),
          links: pageLinks(url, page, lastPage),
          meta: {
            current_page: page,
            per_page,
            last_page: lastPage,
            total,
            from: websites.length > 0 ? from : null,
            to: websites.length > 0 ? from + websites.length - 1 : null,
          },
        },
      };
    },

    async createWebsite({ body }, { caller, asUser }) {
      const { domain: given, ...form } = body;
      const domain = normalDomain(given);
      const settings = await settingsFrom(form);
      const website = await asUser(async (em) => {
        const created = em.create(WebsiteEntity, { userId: caller.userId, domain, ...settings });
        await em.flush();
        // Asked afterwards: whoever has added one keeps other creations of the user waiting, so that the number is exact.
        if ((await countAll(em)) > maxWebsites) {
          throw new Refusal('quota_exceeded', `A user may have at most ${maxWebsites} websites.`);
        }
        return created;
      }).catch((error: unknown) => {
        if (!(error instanceof UniqueConstraintViolationException)) throw error;
        throw new Refusal('domain_taken', `You already have a website for the domain "${domain}".`);
      });
      return { ...item(website), location: `/api/v1/websites/${website.id}` };
    },

    async showWebsite({ path }, { asUser }) {
      return item(await asUser((em) => findWebsite(em, { id: path.id })));
    },

    async showWebsiteByDomain({ path }, { asUser }) {
      const domain = domainIn(path.domain);
      return item(await asUser((em) => findWebsite(em, { domain })));
    },

    updateWebsite,
    putWebsite: updateWebsite,

    async deleteWebsite({ path: { id } }, { asUser, requireVersion }) {
      await asUser(async (em) => {
        const { version } = await findWebsite(em, { id }, LockMode.PESSIMISTIC_WRITE);
        requireVersion(`${version}`);
        await em.nativeDelete(WebsiteEntity, { id });
      });
      return { body: { id, object: 'website', deleted: true } };
    },

    async verifyWebsitePassword({ path, body: { password, ...visitor } }, { asUser, address }) {
      const website = await asUser((em) => findWebsite(em, { id: path.id }));
      return { body: { data: { opens: await passwordTrials.opens(website, password, { ...visitor, address }) } } };
    },
  };
}

const updateWebsite: Handlers<operations>['updateWebsite'] = async ({ path, body = {} }, { asUser, requireVersion }) => {
  const settings = await settingsFrom(body);
  return asUser(async (em) => {
    const website = await findWebsite(em, { id: path.id }, LockMode.PESSIMISTIC_WRITE);
    const { privacy, passwordHash } = { ...website, ...settings };
    if (privacy === 2 && !passwordHash) throw new Invalid([passwordNeeded]);
    requireVersion(`${website.version}`);
    if (Object.keys(settings).length > 0) {
      // Not now(), which is when the transaction began: it may have waited for another one that is later.
      em.assign(website, { ...settings, version: website.version + 1, updatedAt: raw<Date>('clock_timestamp()') });
      await em.flush();
    }
    return item(website);
  });
};

/** Locked, it stays as it is until the end of the transaction. */
async function findWebsite(em: SqlEntityManager, where: { id: number } | { domain: string }, lockMode = LockMode.NONE): Promise<Website> {
  const website = await em.findOne(WebsiteEntity, where, { lockMode });
  if (!website) throw new NotFound();
  return website;
}

function item(website: Website) {
  return { body: { data: websiteView(website) }, version: `${website.version}` };
}

function domainIn(given: string): string {
  try {
    return normalDomain(given);
  } catch (error) {
    if (!(error instanceof InvalidDomain)) throw error;
    throw new Invalid([{ in: 'path', name: 'domain', code: 'invalid_domain', message: error.message }]);
  }
}
