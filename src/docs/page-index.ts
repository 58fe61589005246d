import { type Asset, createHtmlAsset } from './asset-store.ts';
import { renderGettingStartedPage } from './getting-started.page.ts';
import { renderHomePage } from './home.page.ts';
import { createProblemAssets } from './problems.page.ts';
import { renderRecipesPage } from './recipes.page.ts';
import { renderMonitoringPage, renderWebsitesPage } from './reference.page.ts';
import { createSpecAssets } from './specs.ts';
import { createStaticAssets } from './static-assets.ts';

/** Maps the path of each page, OpenAPI document and static file to its asset. Any other path returns 404. */
export function createPageIndex(publicUrl: string): Map<string, Asset> {
  return new Map([
    ['/docs', createHtmlAsset(() => renderHomePage())],
    ['/docs/getting-started', createHtmlAsset(() => renderGettingStartedPage(publicUrl))],
    ['/docs/recipes', createHtmlAsset(() => renderRecipesPage(publicUrl))],
    ['/docs/websites', createHtmlAsset(() => renderWebsitesPage())],
    ['/docs/monitoring', createHtmlAsset(() => renderMonitoringPage())],
    ...createProblemAssets(publicUrl),
    ...createStaticAssets(),
    ...createSpecAssets(publicUrl),
  ]);
}
