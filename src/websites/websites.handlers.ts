import type { operations } from '../../generated/types/websites.ts';
import { readById, selectFrom, sql, writeIf } from '../db/statement.ts';
import type { UserDatabase } from '../db/user-database.ts';
import { InvalidRequest, NotFound, ProblemError } from '../errors.ts';
import type { Handlers, ResourceVersion } from '../http/operations.ts';
import { pageLinks } from '../http/paging.ts';
import type { Limiters } from '../limits/limiters.ts';
import { InvalidDomain, normalizeDomain } from './domain.ts';
import { PasswordAttempts } from './password-attempts.ts';
import { type Website, WebsiteEntity } from './website.entity.ts';
import { findPage } from './website.list.ts';
import { passwordRequired } from './website.rules.ts';
import { settingsFrom } from './website.settings.ts';
import { listedWebsiteView, websiteView } from './website.view.ts';
import { deleteWebsite, insertWebsite, updateWebsite } from './website.writes.ts';

export function websiteHandlers({
  maxWebsites,
  limiters,
}: {
  maxWebsites: number;
  limiters: Limiters;
}): Handlers<operations, UserDatabase> {
  const passwordAttempts = new PasswordAttempts(limiters);

  return {
    async listWebsites({ query, url }, { db }) {
      const { websites, total } = await findPage(db, query);
      const { page, per_page } = query;
      const lastPage = Math.max(1, Math.ceil(total / per_page));
      const from = (page - 1) * per_page + 1;
      return {
        body: {
          data: websites.map(listedWebsiteView),
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

    async createWebsite({ body }, { caller, db }) {
      const { domain: given, ...form } = body;
      const domain = normalizeDomain(given);
      const settings = await settingsFrom(form, caller.userId);
      const [[website]] = await db
        .query(insertWebsite(caller.userId, domain, settings), sql('select enforce_website_quota($1)', [maxWebsites]))
        .catch((error: unknown) => {
          if (hasCode(error, '23505')) throw new ProblemError('domain_taken', `You already have a website for the domain "${domain}".`);
          if (hasCode(error, 'SK001')) throw new ProblemError('quota_exceeded', `A user can have at most ${maxWebsites} websites.`);
          throw error;
        });
      const result = websiteResult(website as Website);
      const { id } = result.body.data;
      return { ...result, location: `/api/v1/websites/${id}`, created: { name: 'website', id } };
    },

    async showWebsite({ path }, { db }) {
      return websiteResult(await readById(db, WebsiteEntity, path.id));
    },

    async showWebsiteByDomain({ path }, { db }) {
      const domain = parseDomain(path.domain);
      const [[website]] = await db.query(selectFrom(WebsiteEntity, 'where domain = $1', [domain]));
      if (!website) throw new NotFound('Website', domain);
      return websiteResult(website);
    },

    updateWebsite: applyUpdate,
    putWebsite: applyUpdate,

    async deleteWebsite({ path: { id } }, { db, allowedVersions, requireVersion }) {
      const explain = async () => requireVersion(websiteVersion(await readById(db, WebsiteEntity, id)));
      await writeIf(db, deleteWebsite(id, allowedVersions('website', id)), explain);
      return { body: { id, object: 'website', deleted: true } };
    },

    async verifyWebsitePassword({ path, body: { password, ...visitor } }, { db, address }) {
      const website = await readById(db, WebsiteEntity, path.id);
      return { body: { data: { opens: await passwordAttempts.verify(website, password, { ...visitor, address }) } } };
    },
  };
}

const applyUpdate: Handlers<operations, UserDatabase>['updateWebsite'] = async (
  { path: { id }, body = {} },
  { caller, db, allowedVersions, requireVersion },
) => {
  const settings = await settingsFrom(body, caller.userId);
  const readIfAllowed = async () => {
    const website = await readById(db, WebsiteEntity, id);
    const { privacy, passwordHash } = { ...website, ...settings };
    if (privacy === 2 && !passwordHash) throw new InvalidRequest([passwordRequired]);
    requireVersion(websiteVersion(website));
    return website;
  };
  if (Object.keys(settings).length === 0) return websiteResult(await readIfAllowed());
  const update = updateWebsite(id, settings, allowedVersions('website', id));
  return websiteResult(await writeIf(db, update, async () => void (await readIfAllowed())));
};

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}

function websiteResult(website: Website) {
  return { body: { data: websiteView(website) }, version: websiteVersion(website) };
}

function websiteVersion({ id, version }: Website): ResourceVersion {
  return { kind: 'website', id, number: version };
}

function parseDomain(given: string): string {
  try {
    return normalizeDomain(given);
  } catch (error) {
    if (!(error instanceof InvalidDomain)) throw error;
    throw new InvalidRequest([{ in: 'path', name: 'domain', code: 'invalid_domain', message: error.message }]);
  }
}
