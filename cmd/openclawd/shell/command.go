package shell

import (
	"context"
	"strings"

	"github.com/pronto-lab/openclawd/eventstore/sqlite/console"
	"github.com/pronto-lab/openclawd/internal/output"
)

// commands are the commands that may be entered instead of SQL.
var commands = []string{".help", ".mode", ".quit", ".schema", ".tables", ".timer"}

const help = `.tables [TEXT]         tables and views; only those with TEXT in their names
.schema [NAME]         columns of a table or view and their meaning; without NAME all views
.mode table|json|csv   output format
.timer on|off          show how long a query took
.help                  this help
.quit                  exit, like Ctrl-D
Ctrl-C cancels the running query, or clears the input. Tab completes words, tables and columns.
`

func (s *Shell) command(ctx context.Context, words []string) (over bool, err error) {
	argument := strings.Join(words[1:], " ")
	switch words[0] {
	case ".help":
		return false, s.printf("%s", help)
	case ".quit", ".exit":
		return true, nil
	case ".tables":
		return false, s.tables(ctx, argument)
	case ".schema":
		return false, s.schema(ctx, argument)
	case ".mode":
		mode, known := ModeOf(argument)
		if !known {
			return false, s.printf("error: .mode is one of %s\n", strings.Join(Modes(), ", "))
		}
		s.opts.Mode = mode
	case ".timer":
		if argument != "on" && argument != "off" {
			return false, s.printf("error: .timer is on or off\n")
		}
		s.timer = argument == "on"
	default:
		return false, s.printf("error: unknown command %s; try: .help\n", output.Printable(words[0]))
	}
	return false, nil
}

func (s *Shell) tables(ctx context.Context, text string) error {
	list, err := s.opts.Asker.Schema(ctx)
	if err != nil {
		return s.printError(err)
	}
	var rows [][]string
	for _, t := range list {
		if strings.Contains(strings.ToLower(t.Name), strings.ToLower(text)) {
			rows = append(rows, []string{t.Name, t.Kind, output.Cut(t.Doc, docCells)})
		}
	}
	if len(rows) == 0 {
		return s.printf("no matching tables or views\n")
	}
	return output.Table(s.opts.Out, []string{"NAME", "KIND", "WHAT"}, rows)
}

// docCells is the width of a comment in a list.
const docCells = 100

func (s *Shell) schema(ctx context.Context, name string) error {
	list, err := s.opts.Asker.Schema(ctx)
	if err != nil {
		return s.printError(err)
	}
	shown := 0
	for _, t := range list {
		if name == "" && t.Kind != "view" || name != "" && !strings.EqualFold(t.Name, name) {
			continue
		}
		if shown++; shown > 1 {
			if err := s.printf("\n"); err != nil {
				return err
			}
		}
		if err := s.describe(&t); err != nil {
			return err
		}
	}
	if shown == 0 {
		return s.printf("no table or view of that name; try: .tables\n")
	}
	return nil
}

func (s *Shell) describe(t *console.Table) error {
	if err := s.printf("%s %s\n", t.Kind, t.Name); err != nil {
		return err
	}
	if t.Doc != "" {
		if err := s.printf("%s\n", t.Doc); err != nil {
			return err
		}
	}
	rows := make([][]string, len(t.Columns))
	for i, c := range t.Columns {
		rows[i] = []string{c.Name, c.Type, c.Doc}
	}
	return output.Table(s.opts.Out, []string{"COLUMN", "TYPE", "WHAT"}, rows)
}
