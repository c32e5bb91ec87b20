// Parses the expressions of a rules file for Loki with Grafana's own LogQL grammar:
//   npm install --no-save @grafana/lezer-logql @lezer/lr yaml && node tests/exports/logql.mjs FILE
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
const need = createRequire(process.cwd() + "/");
const { parser } = need("@grafana/lezer-logql");
const { parse } = need("yaml");
const rules = parse(readFileSync(process.argv[2], "utf8")).groups.flatMap((group) => group.rules);
let wrong = 0;
for (const rule of rules) {
  let bad = false;
  parser.parse(rule.expr).iterate({ enter: (node) => { bad ||= node.type.isError; } });
  if (bad) { wrong += 1; console.log(`${rule.alert}: ${rule.expr}`); }
}
// the grammar must be able to refuse, else the above shows nothing
let refuses = false;
parser.parse('sum(count_over_time({a="b"} |= "x [5m]))').iterate({ enter: (n) => { refuses ||= n.type.isError; } });
console.log(`${rules.length} expressions, ${wrong} refused${refuses ? "" : "; THE PARSER REFUSES NOTHING"}`);
process.exit(wrong || !refuses ? 1 : 0);
