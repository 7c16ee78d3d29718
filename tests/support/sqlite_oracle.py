"""Runs statements on SQLite as Python has it: what is right is what SQLite says, not Daybook.

Standard input: {"tables": {name: {"columns": [[name, type]], "rows": [[value]]}},
"statements": [[sql, params]]}. Standard output: for each statement {"columns", "rows"} or
{"error"}. Tables are made as any user of SQLite would make them.
"""

import json
import math
import sqlite3
import sys


def is_beyond_json(value):
    if isinstance(value, int):
        return abs(value) > 2**53 - 1
    return isinstance(value, bytes) or isinstance(value, float) and not math.isfinite(value)


def run(connection, sql, params):
    try:
        cursor = connection.execute(sql, params)
        rows = cursor.fetchall()
        columns = [column[0] for column in cursor.description]
        beyond = any(is_beyond_json(value) for row in rows for value in row)
        return {"columns": columns, "rows": [] if beyond else rows, "isBeyondJson": beyond}
    except (sqlite3.Error, sqlite3.Warning, OverflowError) as error:
        return {"error": str(error)}


def main():
    asked = json.load(sys.stdin)
    connection = sqlite3.connect(":memory:")
    for name, table in asked["tables"].items():
        columns = ", ".join(f'"{column}" {kind}' for column, kind in table["columns"])
        connection.execute(f'CREATE TABLE "{name}" ({columns}, PRIMARY KEY ("key")) WITHOUT ROWID')
        places = ", ".join("?" for _ in table["columns"])
        connection.executemany(f'INSERT INTO "{name}" VALUES ({places})', table["rows"])
    answers = [run(connection, sql, params) for sql, params in asked["statements"]]
    json.dump({"version": sqlite3.sqlite_version, "answers": answers}, sys.stdout)


main()
