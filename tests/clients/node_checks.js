// node-postgres through the same checks as the other clients; each prints its name when it holds.
const assert = require("node:assert");
const fs = require("node:fs");
const net = require("node:net");
const { setTimeout } = require("node:timers/promises");
const { Client, Pool, types } = require("pg");

const place = JSON.parse(process.argv[2]);
const settings = { ...place, ssl: { ca: fs.readFileSync(place.root), servername: "localhost" } };

/** What the driver itself sends when it cancels: on a connection of its own, nothing encrypted. */
const cancel = (c) => new Promise((resolve, reject) => {
  const other = net.connect(place.port, place.host, () => {
    const request = Buffer.alloc(16);
    [16, 80877102, c.processID, c.secretKey].forEach((n, i) => request.writeInt32BE(n, 4 * i));
    other.end(request);
  });
  other.resume().on("close", resolve).on("error", reject);
});

const checks = {
  async connect(c) {
    const { rows } = await c.query("SELECT current_user AS who");
    assert.equal(rows[0].who, "ann");
  },
  async parameters(c) {
    for (const [sql, value] of place.parameters) {
      assert.ok(Number((await c.query(sql, [value])).rows[0].count) > 500, sql);
    }
    const { rows } = await c.query("SELECT $1::bytea AS b, $2::int[] AS a, $3::json AS j", [Buffer.from("hé"), [1, 2], { k: 1 }]);
    assert.deepEqual([rows[0].b.toString(), rows[0].a, rows[0].j], ["hé", [1, 2], { k: 1 }]);
  },
  async results(c) {
    const text = { getTypeParser: () => (value) => value };
    for (const sql of [place.all_types, place.all_released]) {
      const { rows: [row] } = await c.query({ text: sql, rowMode: "array", types: text });
      assert.deepEqual(row.slice(0, -1), place.shown.slice(0, -1));
    }
    const { rows } = await c.query(place.all_types);
    assert.equal(rows[0].exact, "12.50");
    assert.equal(rows[0].truth, true);
    assert.equal(rows[0].instant.toISOString(), "2024-02-29T01:02:03.000Z");
    assert.equal(rows[0].nothing, null);
    const majors = await c.query(place.majors);
    assert.deepEqual(majors.rows.map((row) => row.major), place.names);
  },
  async error(c) {
    await assert.rejects(c.query("SELECT count(nosuch) FROM student"), { code: "42703" });
    await assert.rejects(c.query("SELECT $1::int", ["x"]), { code: "22P02" });
    assert.equal((await c.query("SELECT 1 AS one")).rows[0].one, 1);
  },
  async prepared(c) {
    for (const bound of [10, 20, 30]) {
      const text = "SELECT count(*) FROM student WHERE uid < $1";
      assert.equal((await c.query({ name: "below", text, values: [bound] })).rowCount, 1);
    }
  },
  async introspection(c) {
    const { rows } = await c.query("SELECT table_name FROM information_schema.tables WHERE table_schema = $1", ["public"]);
    assert.equal(rows.length, 5);
  },
  async cancel(c) {
    await c.query("SET statement_timeout = 200");
    await assert.rejects(c.query("SELECT pg_sleep(30)"), { code: "57014" });
    await c.query("SET statement_timeout = 0");
    let running = true;
    const waiting = c.query("SELECT pg_sleep(30)").finally(() => { running = false; });
    const asking = (async () => {
      // Again and again: one that comes before its statement stops nothing.
      for (; running; await setTimeout(200)) await cancel(c);
    })();
    await assert.rejects(waiting, { code: "57014" });
    await asking;
    assert.equal((await c.query("SELECT 1 AS one")).rows[0].one, 1);
  },
  async thousand(c) {
    for (let i = 0; i < 1000; i++) {
      assert.equal((await c.query("SELECT $1::int AS i", [i])).rows[0].i, i);
    }
  },
  async transaction(c) {
    await c.query("BEGIN");
    await assert.rejects(c.query("SELECT 1 / 0"), { code: "22012" });
    await c.query("ROLLBACK");
    assert.equal((await c.query("SELECT 2 AS two")).rows[0].two, 2);
  },
};

async function main() {
  for (const [name, check] of Object.entries(checks)) {
    const client = new Client(settings);
    try {
      await client.connect();
      await check(client);
      console.log(name);
    } catch (error) {
      console.error(name, error);
    }
    await client.end();
  }
  const pool = new Pool({ ...settings, max: 5 });
  const found = await Promise.all([...Array(20).keys()].map((i) => pool.query("SELECT $1::int AS i", [i])));
  assert.deepEqual(found.map(({ rows }) => rows[0].i), [...Array(20).keys()]);
  await pool.end();
  console.log("pool");
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
