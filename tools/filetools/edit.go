package filetools

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/tools"
)

// change replaces one exact text.
type change struct{ OldText, NewText string }

func (f *files) edit(_ context.Context, call *tools.Call) (tool.Output, error) {
	args, err := tools.Decode[struct {
		Path  string
		Edits []change
		change
	}](call)
	if err != nil {
		return tool.Output{}, err
	}
	if args.OldText != "" { // the form with one replacement
		args.Edits = append(args.Edits, args.change)
	}
	if len(args.Edits) == 0 {
		return tool.Output{}, &tool.Error{Code: tool.CodeInvalid, Field: "/edits", Text: "there is nothing to replace", Hint: "give edits with oldText and newText"}
	}
	p, err := f.open(call, false)
	if err != nil {
		return tool.Output{}, err
	}
	defer p.close()
	defer f.alone(p.dir)()
	dir, name, err := p.parent(args.Path, false)
	if err != nil {
		return tool.Output{}, err
	}
	defer dir.close()
	before, _, err := dir.content(name)
	if err != nil {
		return tool.Output{}, err
	}
	if !isText(before) {
		return tool.Output{}, failure(tool.CodeNotFile, args.Path, "is not a text file", "write it as a whole")
	}
	after, err := replaced(string(before), args.Edits)
	if err != nil {
		return tool.Output{}, err
	}
	if err := dir.replace(name, []byte(after), usualMode); err != nil {
		return tool.Output{}, err
	}
	return tool.Output{Text: fmt.Sprintf("replaced %d texts in %s", len(args.Edits), args.Path)}, nil
}

// replaced makes changes, each of which is looked for in the original text. A file with CRLF keeps it.
func replaced(text string, changes []change) (string, error) {
	type span struct {
		from, to int
		text     string
	}
	var spans []span
	crlf := strings.Contains(text, "\r\n") && !strings.Contains(strings.ReplaceAll(text, "\r\n", ""), "\n")
	for i, c := range changes {
		if crlf {
			c.OldText, c.NewText = withCRLF(c.OldText), withCRLF(c.NewText)
		}
		field := fmt.Sprintf("/edits/%d/oldText", i)
		at := strings.Index(text, c.OldText)
		switch {
		case at < 0:
			return "", &tool.Error{Code: tool.CodeNoMatch, Field: field, Text: fmt.Sprintf("the text of edit %d does not occur in the file", i+1),
				Hint: "read the file, and give the text exactly, with its blanks and line ends"}
		case strings.Contains(text[at+1:], c.OldText):
			return "", &tool.Error{Code: tool.CodeNoMatch, Field: field, Text: fmt.Sprintf("the text of edit %d occurs more than once in the file", i+1),
				Hint: "give more of the lines around it"}
		}
		spans = append(spans, span{at, at + len(c.OldText), c.NewText})
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	var b strings.Builder
	end := 0
	for _, s := range spans {
		if s.from < end {
			return "", &tool.Error{Code: tool.CodeNoMatch, Field: "/edits", Text: "two edits overlap", Hint: "make one edit of them"}
		}
		b.WriteString(text[end:s.from] + s.text)
		end = s.to
	}
	return b.String() + text[end:], nil
}

func withCRLF(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", "\r\n")
}
