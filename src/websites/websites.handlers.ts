import { UniqueConstraintViolationException } from '@mikro-orm/core';
import type { operations } from '../../generated/types/websites.ts';
import { hashPassword } from '../access/passwords.ts';
import { notYet, Refusal } from '../errors.ts';
import type { Handlers } from '../http/operations.ts';
import { pageLinks } from '../paging.ts';
import { normalDomain } from './domain.ts';
import { readLines } from './line-lists.ts';
import { WebsiteEntity } from './website.entity.ts';
import { websiteView } from './website.view.ts';

export function websiteHandlers({ maxWebsites }: { maxWebsites: number }): Handlers<operations> {
  return {
    async listWebsites({ query, url }, { asUser }) {
      const { page, per_page } = query;
      const [websites, total] = await asUser((em) =>
        em.findAndCount(
          WebsiteEntity,
          {
            ...(query.search && { domain: { $ilike: `%${query.search.replace(/[\\%_]/g, '\\$&')}%` } }),
            ...(query.favorite !== undefined && { favorite: query.favorite }),
          },
          { orderBy: { [query.sort_by]: query.sort }, limit: per_page, offset: (page - 1) * per_page },
        ),
      );
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
      const domain = normalDomain(body.domain);
      const passwordHash = body.password ? await hashPassword(body.password) : null;
      const website = await asUser(async (em) => {
        if ((await em.count(WebsiteEntity)) >= maxWebsites) {
          throw new Refusal('quota_exceeded', `A user may have at most ${maxWebsites} websites.`);
        }
        const created = em.create(WebsiteEntity, {
          userId: caller.userId,
          domain,
          privacy: body.privacy,
          passwordHash,
          email: body.email,
          excludeBots: body.exclude_bots,
          excludeParams: readLines('exclude_params', body.exclude_params).text,
          excludeIps: readLines('exclude_ips', body.exclude_ips).text,
        });
        await em.flush();
        return created;
      }).catch((error: unknown) => {
        if (!(error instanceof UniqueConstraintViolationException)) throw error;
        throw new Refusal('domain_taken', `You already have a website for the domain "${domain}".`);
      });
      return { body: { data: websiteView(website) }, location: `/api/v1/websites/${website.id}`, version: `${website.version}` };
    },

    showWebsite: notYet,
    putWebsite: notYet,
    updateWebsite: notYet,
    deleteWebsite: notYet,
    verifyWebsitePassword: notYet,
    showWebsiteByDomain: notYet,
  };
}
