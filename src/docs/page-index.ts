import { type Asset, htmlAsset } from './asset-store.ts';
import { gettingStartedPage } from './getting-started.page.ts';
import { homePage } from './home.page.ts';
import { problemPages } from './problems.page.ts';
import { monitoringPage, websitesPage } from './reference.page.ts';
import { specAssets } from './specs.ts';
import { staticAssets } from './static-assets.ts';

/** Everything that the docs serve, by path. Any other path is not found. */
export function pageIndex(publicUrl: string): Map<string, Asset> {
  return new Map([
    ['/docs', htmlAsset(() => homePage())],
    ['/docs/getting-started', htmlAsset(() => gettingStartedPage(publicUrl))],
    ['/docs/websites', htmlAsset(() => websitesPage())],
    ['/docs/monitoring', htmlAsset(() => monitoringPage())],
    ...problemPages(publicUrl),
    ...staticAssets(),
    ...specAssets(publicUrl),
  ]);
}
