package filetools

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/tools"
)

const (
	// maxVisited bounds the entries that one call visits, and maxSearched the bytes of files that it searches.
	maxVisited  = 50_000
	maxSearched = 256 << 20
	maxLine     = 500
)

func (f *files) list(_ context.Context, call *tools.Call) (tool.Output, error) {
	args, err := tools.Decode[struct {
		Path  string
		Limit int
	}](call)
	if err != nil {
		return tool.Output{}, err
	}
	p, err := f.open(call, false)
	if err != nil {
		return tool.Output{}, err
	}
	defer p.close()
	dir, err := p.directory(args.Path)
	if err != nil {
		return tool.Output{}, err
	}
	defer dir.close()
	entries, err := dir.entries()
	if err != nil {
		return tool.Output{}, err
	}
	most := or(args.Limit, 500)
	lines := make([]string, 0, min(len(entries), most)+1)
	for i, e := range entries {
		if i == most {
			lines = append(lines, fmt.Sprintf("[%d more entries; give a larger limit]", len(entries)-most))
			break
		}
		name := e.Name()
		switch {
		case e.IsDir():
			name += "/"
		case e.Type()&fs.ModeSymlink != 0:
			name += "@"
		}
		lines = append(lines, name)
	}
	if len(lines) == 0 {
		return tool.Output{Text: "(empty directory)"}, nil
	}
	return tool.Output{Text: strings.Join(lines, "\n")}, nil
}

func or(n, otherwise int) int {
	if n == 0 {
		return otherwise
	}
	return n
}

// entries lists a directory, sorted by name.
func (f *folder) entries() ([]fs.DirEntry, error) {
	d, err := f.root.Open(".")
	if err != nil {
		return nil, f.unopened(".", err)
	}
	defer d.Close()
	entries, err := d.ReadDir(maxVisited)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("list %s: %w", f.name, err)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// walk visits the regular files below a folder, except in directories of versions and packages. visit returns false to end it. cut reports
// that there were more entries than one call visits.
func (f *folder) walk(ctx context.Context, visit func(dir *folder, name string) bool) (cut bool, err error) {
	left := maxVisited
	var into func(dir *folder, depth int) (bool, error)
	into = func(dir *folder, depth int) (bool, error) {
		entries, err := dir.entries()
		if err != nil {
			return false, err
		}
		for _, e := range entries {
			if left--; left < 0 || ctx.Err() != nil {
				cut = true
				return false, ctx.Err()
			}
			switch {
			case e.IsDir() && depth < maxDepth && e.Name() != ".git" && e.Name() != "node_modules":
				below, err := dir.sub(e.Name(), false)
				if err != nil {
					continue // it is gone, or was replaced by a link
				}
				more, err := into(below, depth+1)
				below.close()
				if !more || err != nil {
					return false, err
				}
			case e.Type().IsRegular():
				if !visit(dir, e.Name()) {
					return false, nil
				}
			}
		}
		return true, nil
	}
	_, err = into(f, 0)
	return cut, err
}

func (f *files) find(ctx context.Context, call *tools.Call) (tool.Output, error) {
	args, err := tools.Decode[struct {
		Pattern, Path string
		Limit         int
	}](call)
	if err != nil {
		return tool.Output{}, err
	}
	matches, err := glob("/pattern", args.Pattern)
	if err != nil {
		return tool.Output{}, err
	}
	p, err := f.open(call, false)
	if err != nil {
		return tool.Output{}, err
	}
	defer p.close()
	dir, err := p.directory(args.Path)
	if err != nil {
		return tool.Output{}, err
	}
	defer dir.close()
	found := &findings{most: or(args.Limit, 1000), none: "no files match"}
	found.cut, err = dir.walk(ctx, func(at *folder, name string) bool {
		full := path.Join(at.name, name)
		return !matches(strings.TrimPrefix(strings.TrimPrefix(full, dir.name), "/")) || found.add(full)
	})
	return found.output(), err
}

// findings collects the lines of an answer within its limits.
type findings struct {
	lines     []string
	bytes     int
	count     int
	most      int
	full, cut bool
	none      string
}

// add adds a result and reports whether there is room for more.
func (f *findings) add(lines ...string) bool {
	for _, line := range lines {
		if f.bytes += len(line) + 1; f.bytes > maxText {
			f.full = true
			return false
		}
		f.lines = append(f.lines, line)
	}
	f.count++
	f.full = f.count >= f.most
	return !f.full
}

func (f *findings) output() tool.Output {
	lines := f.lines
	switch {
	case len(lines) == 0 && !f.full && !f.cut:
		return tool.Output{Text: f.none}
	case f.full:
		lines = append(lines, fmt.Sprintf("[cut after %d results; narrow the search]", f.count))
	case f.cut:
		lines = append(lines, "[not all files were visited; give a path]")
	}
	return tool.Output{Text: strings.Join(lines, "\n")}
}

func (f *files) grep(ctx context.Context, call *tools.Call) (tool.Output, error) {
	args, err := tools.Decode[struct {
		Pattern, Path, Glob string
		IgnoreCase, Literal bool
		Context, Limit      int
	}](call)
	if err != nil {
		return tool.Output{}, err
	}
	pattern := args.Pattern
	if args.Literal {
		pattern = regexp.QuoteMeta(pattern)
	}
	if args.IgnoreCase {
		pattern = "(?i)" + pattern
	}
	wanted, err := regexp.Compile(pattern)
	if err != nil {
		return tool.Output{}, &tool.Error{Code: tool.CodeInvalid, Field: "/pattern", Text: "the pattern is not a regular expression: " + err.Error(),
			Hint: "correct it, or set literal"}
	}
	matches := func(string) bool { return true }
	if args.Glob != "" {
		if matches, err = glob("/glob", args.Glob); err != nil {
			return tool.Output{}, err
		}
	}
	p, err := f.open(call, false)
	if err != nil {
		return tool.Output{}, err
	}
	defer p.close()
	found := &findings{most: or(args.Limit, 100), none: "no matches"}
	searched := 0
	search := func(dir *folder, name string) bool {
		if !matches(path.Join(dir.name, name)) {
			return true
		}
		text, _, err := dir.content(name)
		if err != nil || !isText(text) {
			return true
		}
		if searched += len(text); searched > maxSearched {
			found.cut = true
			return false
		}
		return grepIn(path.Join(dir.name, name), string(text), wanted, args.Context, found)
	}
	return found.outputOf(ctx, p, args.Path, search)
}

// outputOf searches a file, or all files of a directory.
func (f *findings) outputOf(ctx context.Context, p *place, given string, search func(dir *folder, name string) bool) (tool.Output, error) {
	steps, err := p.steps(given)
	if err != nil {
		return tool.Output{}, err
	}
	if len(steps) > 0 {
		dir, name, err := p.parent(given, false)
		if err != nil {
			return tool.Output{}, err
		}
		defer dir.close()
		info, err := dir.root.Lstat(name)
		if err != nil {
			return tool.Output{}, dir.unopened(name, err)
		}
		if !info.IsDir() {
			if _, err := dir.look(name); err != nil {
				return tool.Output{}, err
			}
			search(dir, name)
			return f.output(), nil
		}
	}
	dir, err := p.directory(given)
	if err != nil {
		return tool.Output{}, err
	}
	defer dir.close()
	cut, err := dir.walk(ctx, search)
	f.cut = f.cut || cut
	return f.output(), err
}

// grepIn adds the matching lines of a file, with those around them.
func grepIn(name, text string, wanted *regexp.Regexp, around int, found *findings) bool {
	lines := strings.Split(text, "\n")
	shown := -1 // the last line that was added
	for i, line := range lines {
		if !wanted.MatchString(line) || i == len(lines)-1 && line == "" {
			continue
		}
		var block []string
		for at := max(i-around, shown+1); at <= min(i+around, len(lines)-1); at++ {
			mark := "-"
			if wanted.MatchString(lines[at]) {
				mark = ":"
			}
			block, shown = append(block, fmt.Sprintf("%s%s%d%s %s", name, mark, at+1, mark, clipped(lines[at]))), at
		}
		if !found.add(block...) {
			return false
		}
	}
	return true
}

func clipped(line string) string {
	line = strings.TrimSuffix(line, "\r")
	if len(line) > maxLine {
		line = strings.ToValidUTF8(line[:maxLine], "") + "…"
	}
	return line
}

// glob compiles a pattern: * within a name, ** across directories, ?, [...] and {a,b}. Without a slash it is about the last name.
func glob(field, pattern string) (func(string) bool, error) {
	var b strings.Builder
	open := 0
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case strings.HasPrefix(pattern[i:], "**/"):
			b.WriteString("(?:.*/)?")
			i += 2
		case strings.HasPrefix(pattern[i:], "**"):
			b.WriteString(".*")
			i++
		case c == '*':
			b.WriteString("[^/]*")
		case c == '?':
			b.WriteString("[^/]")
		case c == '{':
			open++
			b.WriteString("(?:")
		case c == '}' && open > 0:
			open--
			b.WriteString(")")
		case c == ',' && open > 0:
			b.WriteString("|")
		case c == '[' && strings.Contains(pattern[i+1:], "]"):
			end := i + 1 + strings.IndexByte(pattern[i+1:], ']')
			set := strings.ReplaceAll(pattern[i+1:end], `\`, `\\`)
			b.WriteString("[" + strings.Replace(set, "!", "^", 1) + "]")
			i = end
		default:
			_, size := utf8.DecodeRuneInString(pattern[i:])
			b.WriteString(regexp.QuoteMeta(pattern[i : i+size]))
			i += size - 1
		}
	}
	compiled, err := regexp.Compile("^(?:" + b.String() + ")$")
	if err != nil {
		return nil, &tool.Error{Code: tool.CodeInvalid, Field: field, Text: "the pattern is not valid", Hint: "use *, **, ?, [...] and {a,b}"}
	}
	if !strings.Contains(pattern, "/") {
		return func(name string) bool { return compiled.MatchString(path.Base(name)) }, nil
	}
	return compiled.MatchString, nil
}
