import type { operations } from '../../generated/types/websites.ts';
import type { Limiters } from '../access/limiters.ts';
import { readOwn, selectFrom, sql, writeIf } from '../db/statement.ts';
import { Invalid, NotFound, Refusal } from '../errors.ts';
import type { Handlers } from '../http/operations.ts';
import { pageLinks } from '../paging.ts';
import { InvalidDomain, normalDomain } from './domain.ts';
import { PasswordTrials } from './password-trials.ts';
import { type Website, WebsiteEntity } from './website.entity.ts';
import { findPage } from './website.pages.ts';
import { passwordNeeded } from './website.rules.ts';
import { settingsFrom } from './website.settings.ts';
import { websiteView } from './website.view.ts';
import { deleteWebsite, insertWebsite, updateWebsite } from './website.writes.ts';

export function websiteHandlers({ maxWebsites, limiters }: { maxWebsites: number; limiters: Limiters }): Handlers<operations> {
  const passwordTrials = new PasswordTrials(limiters);

  return {
    async listWebsites({ query, url }, { ask }) {
      const { websites, total } = await findPage(ask, query);
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

    async createWebsite({ body }, { caller, ask }) {
      const { domain: given, ...form } = body;
      const domain = normalDomain(given);
      const settings = await settingsFrom(form);
      const [[website]] = await ask(
        insertWebsite(caller.userId, domain, settings),
        sql('select refuse_websites_over($1)', [maxWebsites]),
      ).catch((error: unknown) => {
        if (hasCode(error, '23505')) throw new Refusal('domain_taken', `You already have a website for the domain "${domain}".`);
        if (hasCode(error, 'SK001')) throw new Refusal('quota_exceeded', `A user may have at most ${maxWebsites} websites.`);
        throw error;
      });
      return { ...item(website as Website), location: `/api/v1/websites/${website?.id}` };
    },

    async showWebsite({ path }, { ask }) {
      return item(await readOwn(ask, WebsiteEntity, path.id));
    },

    async showWebsiteByDomain({ path }, { ask }) {
      const [[website]] = await ask(selectFrom(WebsiteEntity, 'where domain = $1', [domainIn(path.domain)]));
      if (!website) throw new NotFound();
      return item(website);
    },

    updateWebsite: changeWebsite,
    putWebsite: changeWebsite,

    async deleteWebsite({ path: { id } }, { ask, versions, requireVersion }) {
      await writeIf(ask, deleteWebsite(id, versions), async () => requireVersion(`${(await readOwn(ask, WebsiteEntity, id)).version}`));
      return { body: { id, object: 'website', deleted: true } };
    },

    async verifyWebsitePassword({ path, body: { password, ...visitor } }, { ask, address }) {
      const website = await readOwn(ask, WebsiteEntity, path.id);
      return { body: { data: { opens: await passwordTrials.opens(website, password, { ...visitor, address }) } } };
    },
  };
}

const changeWebsite: Handlers<operations>['updateWebsite'] = async ({ path: { id }, body = {} }, { ask, versions, requireVersion }) => {
  const settings = await settingsFrom(body);
  const readAllowed = async () => {
    const website = await readOwn(ask, WebsiteEntity, id);
    const { privacy, passwordHash } = { ...website, ...settings };
    if (privacy === 2 && !passwordHash) throw new Invalid([passwordNeeded]);
    requireVersion(`${website.version}`);
    return website;
  };
  if (Object.keys(settings).length === 0) return item(await readAllowed());
  return item(await writeIf(ask, updateWebsite(id, settings, versions), async () => void (await readAllowed())));
};

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
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
