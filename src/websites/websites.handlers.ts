import type { operations } from '../../generated/types/websites.ts';
import { createWithinQuota, hasCode, prepareRead, writeIf } from '../db/rows.ts';
import { prepare } from '../db/statement.ts';
import { selectFrom } from '../db/tables.ts';
import type { UserDatabase } from '../db/user-database.ts';
import { InvalidRequest, NotFound, ProblemError } from '../errors.ts';
import type { Handlers, ResourceVersion } from '../http/operations.ts';
import { pageLinks } from '../http/paging.ts';
import type { Limiters } from '../limits/limiters.ts';
import { InvalidDomain, normalizeDomain, unicodeForm } from './domain.ts';
import { PasswordAttempts, selectPassword } from './password-attempts.ts';
import { type Website, WebsiteEntity } from './website.entity.ts';
import { findPage } from './website.list.ts';
import { passwordRequired } from './website.rules.ts';
import { defaultSettings, settingsFrom } from './website.settings.ts';
import { listedWebsiteView, websiteView } from './website.view.ts';
import { deleteWebsite, insertWebsite, updateWebsite } from './website.writes.ts';

const readWebsite = prepareRead(WebsiteEntity);
const selectByDomain = prepare(({ domain }: { domain: string }) => selectFrom(WebsiteEntity).where('domain', '=', domain));

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
      const { domain, ...form } = body;
      const { userId } = caller;
      const settings = { ...defaultSettings, ...(await settingsFrom(form, userId)) };
      const insert = insertWebsite({ userId, domain, domainUnicode: unicodeForm(domain), ...settings });
      const website = await createWithinQuota(db, { table: 'websites', maximum: maxWebsites }, insert).catch((error: unknown) => {
        if (hasCode(error, '23505')) throw new ProblemError('domain_taken', `You already have a website for the domain "${domain}".`);
        throw error;
      });
      const { id } = website;
      return { ...websiteResult(website), location: `/api/v1/websites/${id}`, created: { name: 'website', id } };
    },

    async showWebsite({ path }, { db }) {
      return websiteResult(await readWebsite(db, path.id));
    },

    async showWebsiteByDomain({ path }, { db }) {
      const domain = parseDomain(path.domain);
      const [[website]] = await db.query(selectByDomain({ domain }));
      if (!website) throw new NotFound('Website', domain);
      return websiteResult(website);
    },

    updateWebsite: applyUpdate,
    putWebsite: applyUpdate,

    async deleteWebsite({ path: { id } }, { db, allowedVersions, requireVersion }) {
      const deletion = deleteWebsite({ id, versions: allowedVersions('website', id) });
      await writeIf(db, async (isRetry) => {
        if (isRetry) requireVersion(websiteVersion(await readWebsite(db, id)));
        return [deletion];
      });
      return { body: { id, object: 'website', deleted: true } };
    },

    async verifyWebsitePassword({ path, body: { password, ...visitor } }, { db, address }) {
      const [[website]] = await db.query(selectPassword(path));
      if (!website) throw new NotFound('Website', path.id);
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
    const website = await readWebsite(db, id);
    const { privacy = website.privacy, passwordHash } = settings;
    const hasPassword = passwordHash === undefined ? website.hasPassword : passwordHash !== null;
    if (privacy === 2 && !hasPassword) throw new InvalidRequest([passwordRequired]);
    requireVersion(websiteVersion(website));
    return website;
  };
  if (Object.keys(settings).length === 0) return websiteResult(await readIfAllowed());
  const update = updateWebsite({ ...settings, id, versions: allowedVersions('website', id) });
  const website = await writeIf(db, async (isRetry) => {
    if (isRetry) await readIfAllowed();
    return [update];
  });
  return websiteResult(website);
};

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
