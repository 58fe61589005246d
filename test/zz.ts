import { dataDir as freshCluster } from '/work/main/node_modules/@electric-sql/pglite-prepopulatedfs/dist/index.js';
import { migrateEmbedded, openOnPglite, startPglite } from '/work/main/src/db/embedded.ts';
import { compilePglite } from '/work/main/src/db/pglite-module.ts';
import { entities } from '/work/main/src/entities.ts';
const cpu=()=>{const c=process.cpuUsage();return (c.user+c.system)/1000};
async function m(n,f){const t=performance.now(),c=cpu();const r=await f();console.log(n,(performance.now()-t).toFixed(0),'cpu',(cpu()-c).toFixed(0));return r}
const pg=await startPglite({loadDataDir:await freshCluster()});await migrateEmbedded(pg);
const tar=await pg.dumpDataDir('none');console.log(tar.size);
for(let i=0;i<3;i++){ await m('compile',()=>compilePglite());
const p=await m('start',()=>startPglite({loadDataDir:tar}));
const d=await m('open',()=>openOnPglite(p,entities));
await m('close',()=>d.close());}
