package console

import (
	"strings"

	sqlite3 "modernc.org/sqlite"
	sqlite3lib "modernc.org/sqlite/lib"

	"github.com/pronto-lab/openclawd/eventstore/sqlite"
)

// MaxStatement is the maximum length of a statement in bytes.
const MaxStatement = 64 << 10

// engineLimits are SQLite's own limits for a statement, except for the size of a value.
var engineLimits = map[int32]int32{
	sqlite3lib.SQLITE_LIMIT_SQL_LENGTH:      MaxStatement,
	sqlite3lib.SQLITE_LIMIT_COLUMN:          500,
	sqlite3lib.SQLITE_LIMIT_EXPR_DEPTH:      200,
	sqlite3lib.SQLITE_LIMIT_COMPOUND_SELECT: 100,
	sqlite3lib.SQLITE_LIMIT_VDBE_OP:         500_000,
	sqlite3lib.SQLITE_LIMIT_FUNCTION_ARG:    50,
	sqlite3lib.SQLITE_LIMIT_ATTACHED:        0,
	sqlite3lib.SQLITE_LIMIT_VARIABLE_NUMBER: MaxParams,
	sqlite3lib.SQLITE_LIMIT_TRIGGER_DEPTH:   1,
	sqlite3lib.SQLITE_LIMIT_WORKER_THREADS:  0,
}

// onlyQuestions is the hint for statements that would change something.
const onlyQuestions = "use SELECT, WITH, VALUES or EXPLAIN: the console is read-only"

// madeByJSON are the table-valued functions that may be read: they depend only on their arguments.
var madeByJSON = map[string]bool{"json_each": true, "json_tree": true}

// schemaTables are the names of the table of tables.
var schemaTables = [...]string{"sqlite_schema", "sqlite_master"}

// hidden are columns that read as NULL: with the salt of an event, a short payload could be guessed after it was
// redacted.
var hidden = map[string]bool{"events.salt": true}

// functions lists the functions that may be called. Others have side effects, reveal internals of the program, or take
// unbounded time.
var functions = words(`abs avg ceil ceiling changes char coalesce concat concat_ws count cume_dist current_date current_time current_timestamp date
	datetime dense_rank exp first_value floor format glob group_concat hex if ifnull iif instr json json_array json_array_length json_error_position
	json_extract json_group_array json_group_object json_insert json_object json_pretty json_quote json_remove json_replace json_set json_type
	json_valid julianday lag last_value lead length like likelihood likely ln log log10 log2 lower ltrim max min mod nth_value ntile nullif
	octet_length percent_rank pi pow power printf quote randomblob random rank replace round row_number rtrim sign sqlite_version sqrt strftime
	string_agg substr substring sum time timediff total trim trunc typeof unicode unixepoch unlikely upper zeroblob -> ->>
	acos acosh asin asinh atan atan2 atanh cos cosh degrees radians sin sinh tan tanh`)

func words(text string) map[string]bool {
	list := map[string]bool{}
	for word := range strings.FieldsSeq(text) {
		list[word] = true
	}
	return list
}

// authorize decides what a statement may do; SQLite calls it while preparing one. Unknown actions are refused.
func (s *session) authorize(action sqlite3.AuthorizerActionCode, one, two, _, _ string) sqlite3.AuthorizerReturnCode {
	switch {
	case s.ctx.Err() != nil:
		return sqlite3.AuthorizerDeny
	case action == sqlite3.AuthSelect, action == sqlite3.AuthRecursive:
		return sqlite3.AuthorizerOK
	case action == sqlite3.AuthRead:
		return s.authorizeRead(strings.ToLower(one), strings.ToLower(two))
	case action == sqlite3.AuthFunction && functions[strings.ToLower(two)]:
		return sqlite3.AuthorizerOK
	case action == sqlite3.AuthFunction:
		return s.refuse("the function "+clip(two), "it reaches beyond the question, or nothing bounds its time; docs/operations/sql.md lists what may be called")
	case action == sqlite3.AuthPragma:
		return s.refuse("PRAGMA "+clip(one), "SQLite settings can be neither read nor changed here; sqlite_schema lists the tables")
	}
	return s.refuse(wanted(action), onlyQuestions)
}

// checkPast refuses a statement that may name the whole log's file, whose events are later than the one asked about. The
// authorizer cannot: it is not told whether a table is read by a view of ours or by the statement. Words of SQL are
// compared without case, for ASCII letters only.
func checkPast(statement string) error {
	if strings.Contains(strings.ToLower(statement), sqlite.ScratchLog) {
		return &RefusedError{What: "naming " + sqlite.ScratchLog, HintText: "name the table alone: the rest of the log is later than the event asked about"}
	}
	return nil
}

func (s *session) authorizeRead(table, column string) sqlite3.AuthorizerReturnCode {
	switch {
	case hidden[table+"."+column]:
		return sqlite3.AuthorizerIgnore
	case s.later[table]:
		return s.refuse("reading "+clip(table), "there is no such table as of an event")
	case s.tables[table]:
		return sqlite3.AuthorizerOK
	case column == "" && !s.made[table] && !strings.HasPrefix(table, "pragma_"):
		return sqlite3.AuthorizerOK // a name defined by the statement itself, without any column
	}
	return s.refuse("reading "+clip(table), "only tables and views of the database can be read, json_each and json_tree; sqlite_schema lists them")
}

func (s *session) refuse(what, hint string) sqlite3.AuthorizerReturnCode {
	if s.refused == nil {
		s.refused = &RefusedError{What: what, HintText: hint}
	}
	return sqlite3.AuthorizerDeny
}

// wanted describes an action for people.
func wanted(action sqlite3.AuthorizerActionCode) string {
	switch action {
	case sqlite3.AuthInsert:
		return "INSERT"
	case sqlite3.AuthUpdate:
		return "UPDATE"
	case sqlite3.AuthDelete:
		return "DELETE"
	case sqlite3.AuthTransaction, sqlite3.AuthSavepoint:
		return "a transaction"
	case sqlite3.AuthAttach, sqlite3.AuthDetach:
		return "another database"
	case sqlite3.AuthReindex, sqlite3.AuthAnalyze:
		return "an index operation"
	}
	return "a schema change"
}
