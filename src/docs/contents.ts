import { assetContents } from './assets.ts';
import { type Content, htmlContent } from './content.ts';
import { gettingStartedPage } from './getting-started.page.ts';
import { homePage } from './home.page.ts';
import { problemPages } from './problems.page.ts';
import { monitoringPage, websitesPage } from './reference.page.ts';
import { specContents } from './specs.ts';

/** All that the docs serve, by path. What is not in this map is not served. */
export function docsContents(publicUrl: string): Map<string, Content> {
  return new Map([
    ['/docs', htmlContent(() => homePage())],
    ['/docs/getting-started', htmlContent(() => gettingStartedPage(publicUrl))],
    ['/docs/websites', htmlContent(() => websitesPage())],
    ['/docs/monitoring', htmlContent(() => monitoringPage())],
    ...problemPages(publicUrl),
    ...assetContents(),
    ...specContents(publicUrl),
  ]);
}
