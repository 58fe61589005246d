// npm runs this at the end of "npm ci" in a checkout, but not when somebody installs the package.
import { existsSync, readdirSync, rmSync } from 'node:fs';

// The package "node" contains C++ headers (68 MB), which only compilers of native modules need.
const nodePackages = 'node_modules/node/node_modules';
for (const name of existsSync(nodePackages) ? readdirSync(nodePackages) : []) {
  rmSync(`${nodePackages}/${name}/include`, { recursive: true, force: true });
}

// This script already runs on the installed Node. Only this variable names the Node of the system.
const [, system = process.versions.node] = / node\/v([\d.]+)/.exec(process.env.npm_config_user_agent) ?? [];
if (system !== process.versions.node && Number.parseInt(system, 10) < 24) {
  console.error(`Installed Node ${process.versions.node} in node_modules, because your Node ${system} is older. npm scripts use it.`);
}
