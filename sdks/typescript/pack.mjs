// Build the package for npm: `npm run pack`. Authors, addresses and the links of the README derive from the
// project's file, so what is packed stands in a folder of its own.

import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { posix } from "node:path";
import process from "node:process";

const FOLDER = "sdks/typescript";
const RELATIVE_LINK = /(\[[^\]]*\])\((?![a-z]+:|#)([^)\s]+)\)/g;

function run(program, ...options) {
  execFileSync(process.execPath, [program, ...options], { stdio: "inherit" });
}

const project = readFileSync("../../project.toml", "utf8");
const [, address] = /^address = "(.+)"$/m.exec(project);
const [, name, email] = /name = "(.+?)", email = "(.+?)"/.exec(project);
const { scripts, devDependencies, ...described } = JSON.parse(readFileSync("package.json", "utf8"));
const files = `${address}/blob/v${described.version}`;

process.umask(0o022); // the modes of files are in the archive
rmSync("build", { recursive: true, force: true });
run("node_modules/typescript/bin/tsc", "--outDir", "build/dist");
run("node_modules/typescript/bin/tsc", "--project", "tsconfig.cjs.json", "--outDir", "build/dist/cjs");
writeFileSync("build/dist/cjs/package.json", '{ "type": "commonjs" }\n');
writeFileSync("build/LICENSE", readFileSync("../../LICENSE"));
const links = (_, label, target) => `${label}(${files}/${posix.normalize(posix.join(FOLDER, target))})`;
writeFileSync("build/README.md", readFileSync("README.md", "utf8").replace(RELATIVE_LINK, links));
writeFileSync("build/package.json", JSON.stringify({
  ...described,
  author: { name, email },
  homepage: `${files}/${FOLDER}/README.md`,
  repository: { type: "git", url: `git+${address}.git`, directory: FOLDER },
  bugs: `${address}/issues`,
}, undefined, 2));
mkdirSync("dist", { recursive: true });
run(process.env.npm_execpath, "pack", "./build", "--silent", "--pack-destination", "dist");
