// SPDX-License-Identifier: MIT
// Prints the rows of Parquet files as JSON lines, as one of three outside readers has them.
//
//   node read_parquet.mjs MODULES duckdb|chdb|hyparquet DIRECTORY
//
// A line: {"file": …, "columns": […], "rows": [[…], …]}. Numbers of 64 bits are texts.
import { createRequire } from 'module';
import { readdirSync } from 'fs';
import { pathToFileURL } from 'url';

const [modules, reader, directory] = process.argv.slice(2);
const require = createRequire(modules + '/');
const files = readdirSync(directory).filter((name) => name.endsWith('.parquet')).sort();
const quoted = (path) => "'" + path.replaceAll("'", "''") + "'";
const plain = (value) =>
  typeof value === 'bigint' ? value.toString() : Array.isArray(value) ? value.map(plain)
    : value === undefined ? null : value;
const put = (file, columns, rows) =>
  process.stdout.write(JSON.stringify({ file, columns, rows: rows.map((row) => row.map(plain)) }) + '\n');

async function duckdb() {
  const { DuckDBInstance } = require('@duckdb/node-api');
  const connection = await (await DuckDBInstance.create(':memory:')).connect();
  for (const file of files) {
    const from = quoted(`${directory}/${file}`);
    const columns = (await connection.runAndReadAll(`describe select * from ${from}`))
      .getRowObjectsJson().map((row) => [row.column_name, row.column_type]);
    const has_ts = columns[0][0] === 'ts';
    const all = has_ts ? 'epoch_ns(ts) as ts, * exclude (ts)' : '*';
    const result = await connection.runAndReadAll(`select ${all} from ${from}`);
    put(file, columns.map((column) => column[0]), result.getRowsJson());
  }
}

function chdb() {
  const { query } = require('chdb');
  for (const file of files) {
    const from = `file(${quoted(`${directory}/${file}`)}, Parquet)`;
    const columns = JSON.parse(query(`describe table ${from} format JSONCompact`, 'JSONCompact')).data
      .map((row) => row[0]);
    const all = columns[0] === 'ts' ? 'toUnixTimestamp64Nano(ts) as ts_, * except (ts)' : '*';
    const text = query(`select ${all} from ${from} settings output_format_json_quote_64bit_integers=1, `
      + 'output_format_json_quote_denormals=1, input_format_parquet_preserve_order=1, max_threads=1',
      'JSONCompactEachRow');
    put(file, columns, text.split('\n').filter((line) => line).map((line) => JSON.parse(line)));
  }
}

async function hyparquet() {
  const at = (name) => import(pathToFileURL(`${modules}/node_modules/${name}`).href);
  const { asyncBufferFromFile, parquetReadObjects, parquetMetadataAsync } = { ...(await at('hyparquet/src/index.js')), ...(await at('hyparquet/src/node.js')) };
  const { compressors } = await at('hyparquet-compressors/src/index.js');
  for (const name of files) {
    const file = await asyncBufferFromFile(`${directory}/${name}`);
    const metadata = await parquetMetadataAsync(file);
    const columns = [];
    const after = (at) => { // the element behind this one and all below it
      let next = at + 1;
      for (let i = 0; i < (metadata.schema[at].num_children ?? 0); i++) next = after(next);
      return next;
    };
    for (let at = 1; at < metadata.schema.length; at = after(at)) columns.push(metadata.schema[at].name);
    const parsers = { timestampFromNanoseconds: (nanos) => nanos };
    const rows = await parquetReadObjects({ file, compressors, parsers });
    put(name, columns, rows.map((row) => columns.map((column) => row[column])));
  }
}

await { duckdb, chdb, hyparquet }[reader]();
