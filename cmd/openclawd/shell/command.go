package shell

import (
	"context"
	"strings"

	"github.com/pronto-lab/openclawd/cmd/openclawd/output"
	"github.com/pronto-lab/openclawd/eventstore/sqlite/console"
)

// commands are what a line may begin with instead of a question.
var commands = []string{".help", ".mode", ".quit", ".schema", ".tables", ".timer"}

const help = `.tables [TEXT]         tables and views; only those with TEXT in their names
.schema [NAME]         columns of a table or view and what they mean; without NAME all views
.mode table|json|csv   how answers are written
.timer on|off          say how long an answer took
.help                  this
.quit                  end, as Ctrl-D does
Ctrl-C ends the question that is being answered, or takes back what is typed. Tab completes words, tables and columns.
`

func (s *Shell) command(ctx context.Context, words []string) (over bool, err error) {
	argument := strings.Join(words[1:], " ")
	switch words[0] {
	case ".help":
		return false, s.say("%s", help)
	case ".quit", ".exit":
		return true, nil
	case ".tables":
		return false, s.tables(ctx, argument)
	case ".schema":
		return false, s.schema(ctx, argument)
	case ".mode":
		mode, known := ModeOf(argument)
		if !known {
			return false, s.say("error: .mode is one of %s\n", strings.Join(Modes(), ", "))
		}
		s.opts.Mode = mode
	case ".timer":
		if argument != "on" && argument != "off" {
			return false, s.say("error: .timer is on or off\n")
		}
		s.timer = argument == "on"
	default:
		return false, s.say("error: there is no %s; .help lists what there is\n", output.Printable(words[0]))
	}
	return false, nil
}

func (s *Shell) tables(ctx context.Context, text string) error {
	list, err := s.opts.Asker.Schema(ctx)
	if err != nil {
		return s.tell(err)
	}
	var rows [][]string
	for _, t := range list {
		if strings.Contains(strings.ToLower(t.Name), strings.ToLower(text)) {
			rows = append(rows, []string{t.Name, t.Kind, output.Cut(t.Doc, docCells)})
		}
	}
	if len(rows) == 0 {
		return s.say("there is none like that\n")
	}
	return output.Table(s.opts.Out, []string{"NAME", "KIND", "WHAT"}, rows)
}

// docCells is how wide a comment may be in a list.
const docCells = 100

func (s *Shell) schema(ctx context.Context, name string) error {
	list, err := s.opts.Asker.Schema(ctx)
	if err != nil {
		return s.tell(err)
	}
	shown := 0
	for _, t := range list {
		if name == "" && t.Kind != "view" || name != "" && !strings.EqualFold(t.Name, name) {
			continue
		}
		if shown++; shown > 1 {
			if err := s.say("\n"); err != nil {
				return err
			}
		}
		if err := s.describe(&t); err != nil {
			return err
		}
	}
	if shown == 0 {
		return s.say("there is no table or view of that name; .tables lists them\n")
	}
	return nil
}

func (s *Shell) describe(t *console.Table) error {
	if err := s.say("%s %s\n", t.Kind, t.Name); err != nil {
		return err
	}
	if t.Doc != "" {
		if err := s.say("%s\n", t.Doc); err != nil {
			return err
		}
	}
	rows := make([][]string, len(t.Columns))
	for i, c := range t.Columns {
		rows[i] = []string{c.Name, c.Type, c.Doc}
	}
	return output.Table(s.opts.Out, []string{"COLUMN", "TYPE", "WHAT"}, rows)
}
