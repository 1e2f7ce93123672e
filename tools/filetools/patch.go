package filetools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/tools"
)

// maxPatched bounds the files of one patch, and maxPatchedBytes their new contents together.
const (
	maxPatched      = 200
	maxPatchedBytes = 64 << 20
)

func (f *files) patch(_ context.Context, call *tools.Call) (tool.Output, error) {
	args, err := tools.Decode[struct{ Input string }](call)
	if err != nil {
		return tool.Output{}, err
	}
	parts, err := parsePatch(args.Input)
	if err != nil {
		return tool.Output{}, err
	}
	p, err := f.open(call, true)
	if err != nil {
		return tool.Output{}, err
	}
	defer p.close()
	defer f.alone(p.dir)()
	if err := p.prepareAll(parts); err != nil {
		return tool.Output{}, err
	}
	var done []string
	for i := range parts {
		if err := p.carryOut(&parts[i]); err != nil {
			return tool.Output{}, after(i, len(parts), err)
		}
		done = append(done, parts[i].kind+" "+parts[i].path)
	}
	return tool.Output{Text: "patched:\n" + strings.Join(done, "\n")}, nil
}

// after says in an error how much of a patch was carried out before it.
func after(done, all int, err error) error {
	begin := fmt.Sprintf("after %d of %d files of the patch: ", done, all)
	if known := (*tool.Error)(nil); errors.As(err, &known) {
		said := *known
		said.Text = begin + said.Text
		return &said
	}
	return fmt.Errorf("%s%w", begin, err)
}

// part is what a patch does to one file.
type part struct {
	kind  string // A, M, D
	path  string
	to    string // where it is moved; "" for nowhere
	lines []string
	text  string // the new content
}

const (
	patchBegin  = "*** Begin Patch"
	patchEnd    = "*** End Patch"
	patchAdd    = "*** Add File: "
	patchDelete = "*** Delete File: "
	patchUpdate = "*** Update File: "
	patchMove   = "*** Move to: "
	patchEOF    = "*** End of File"
)

func wrongPatch(line int, text string) error {
	return &tool.Error{Code: tool.CodeInvalid, Field: "/input", Text: fmt.Sprintf("line %d of the patch: %s", line, text),
		Hint: "write " + patchBegin + ", then sections such as " + patchUpdate + "NAME with lines that begin with @@, a blank, - or +, then " + patchEnd}
}

func parsePatch(input string) (parts []part, err error) {
	lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(input, "\r\n", "\n")), "\n")
	last := len(lines) - 1
	if strings.TrimSpace(lines[0]) != patchBegin || strings.TrimSpace(lines[last]) != patchEnd {
		return nil, wrongPatch(1, "it does not begin and end with its marks")
	}
	seen := map[string]bool{}
	for i := 1; i < last; i++ {
		line := lines[i]
		section := part{}
		for prefix, kind := range map[string]string{patchAdd: "A", patchDelete: "D", patchUpdate: "M"} {
			if name, is := strings.CutPrefix(line, prefix); is {
				section = part{kind: kind, path: strings.TrimSpace(name)}
			}
		}
		to, moves := strings.CutPrefix(line, patchMove)
		switch {
		case section.kind != "" && (section.path == "" || seen[section.path]):
			return nil, wrongPatch(i+1, "the file has no name, or a second section")
		case section.kind != "":
			seen[section.path] = true
			parts = append(parts, section)
		case len(parts) == 0:
			return nil, wrongPatch(i+1, "it belongs to no file")
		case moves && parts[len(parts)-1].kind == "M":
			parts[len(parts)-1].to = strings.TrimSpace(to)
		default:
			parts[len(parts)-1].lines = append(parts[len(parts)-1].lines, line)
		}
	}
	if len(parts) == 0 || len(parts) > maxPatched {
		return nil, wrongPatch(1, fmt.Sprintf("it has %d files, must have 1 to %d", len(parts), maxPatched))
	}
	return parts, nil
}

// prepareAll checks all parts before the first is written: each file belongs to one of them only, however its path is written.
func (p *place) prepareAll(parts []part) error {
	seen, total := map[string]bool{}, 0
	for i := range parts {
		s := &parts[i]
		from, err := p.clean(s.path)
		if err != nil {
			return err
		}
		names := []string{from}
		if s.to != "" {
			to, err := p.clean(s.to)
			if err != nil {
				return err
			}
			if to == from {
				s.to = ""
			} else {
				names = append(names, to)
			}
		}
		for _, name := range names {
			if seen[name] {
				return &tool.Error{Code: tool.CodeInvalid, Field: "/input", Text: fmt.Sprintf("the patch has two sections about %.200q", name), Hint: "write one section for each file, or two patches"}
			}
			seen[name] = true
		}
		if err := p.prepare(s); err != nil {
			return err
		}
		if len(s.text) > maxFile {
			return tooLarge(s.path, maxFile)
		}
		if total += len(s.text); total > maxPatchedBytes {
			return &tool.Error{Code: tool.CodeTooLarge, Field: "/input", Text: fmt.Sprintf("the changed files have more than %d MiB together", maxPatchedBytes>>20), Hint: "change fewer files at a time"}
		}
	}
	return nil
}

// clean is the one spelling of a path below the workspace.
func (p *place) clean(given string) (string, error) {
	steps, err := p.steps(given)
	return strings.Join(steps, "/"), err
}

// target checks that a file can be written to a path: there is a file of the workspace, or none.
func (p *place) target(given string) error {
	dir, name, err := p.parent(given, false)
	if err == nil {
		_, err = dir.look(name)
		dir.close()
	}
	if known := (*tool.Error)(nil); errors.As(err, &known) && known.Code == tool.CodeNoFile {
		return nil
	}
	return err
}

// prepare finds the new content of a file, without writing.
func (p *place) prepare(s *part) error {
	if s.kind == "A" {
		var b strings.Builder
		for _, line := range s.lines {
			added, is := strings.CutPrefix(line, "+")
			if !is {
				return &tool.Error{Code: tool.CodeInvalid, Field: "/input", Text: "a line of the new file " + s.path + " does not begin with +", Hint: "begin each with +"}
			}
			b.WriteString(added + "\n")
		}
		s.text = b.String()
		return p.target(s.path)
	}
	dir, name, err := p.parent(s.path, false)
	if err != nil {
		return err
	}
	defer dir.close()
	before, _, err := dir.content(name)
	switch {
	case err != nil || s.kind == "D":
		return err
	case !isText(before):
		return failure(tool.CodeNotFile, s.path, "is not a text file", "write it as a whole")
	}
	if s.text, err = s.applied(string(before)); err == nil && s.to != "" {
		err = p.target(s.to)
	}
	return err
}

// applied makes the changes of a section, from top to bottom.
func (s *part) applied(text string) (string, error) {
	var done strings.Builder
	rest := text
	for _, h := range s.hunks() {
		for _, anchor := range h.anchors {
			at := lineIndex(rest, anchor)
			if at < 0 {
				return "", s.noMatch(anchor)
			}
			end := at + len(anchor)
			done.WriteString(rest[:end])
			rest = rest[end:]
		}
		if h.old == "" && len(h.anchors) == 0 { // only additions: at the end
			if rest != "" && !strings.HasSuffix(rest, "\n") {
				rest += "\n"
			}
			done.WriteString(rest + h.new)
			rest = ""
			continue
		}
		if h.old == "" {
			line, after, _ := strings.Cut(rest, "\n")
			done.WriteString(line + "\n" + h.new)
			rest = after
			continue
		}
		old, replacement := h.old, h.new
		at := lineIndex(rest, old)
		if at < 0 && strings.HasSuffix(rest, strings.TrimSuffix(old, "\n")) { // the last line has no end
			old, replacement = strings.TrimSuffix(old, "\n"), strings.TrimSuffix(replacement, "\n")
			at = len(rest) - len(old)
		}
		if at < 0 {
			return "", s.noMatch(old)
		}
		done.WriteString(rest[:at])
		done.WriteString(replacement)
		rest = rest[at+len(old):]
	}
	done.WriteString(rest)
	return done.String(), nil
}

func (s *part) noMatch(text string) error {
	first, _, _ := strings.Cut(text, "\n")
	return &tool.Error{Code: tool.CodeNoMatch, Field: "/input", Text: fmt.Sprintf("%s does not have the lines that begin with %.200q", s.path, first),
		Hint: "read the file, and give its lines exactly"}
}

// lineIndex is where a text occurs at the beginning of a line.
func lineIndex(text, part string) int {
	if strings.HasPrefix(text, part) {
		return 0
	}
	if at := strings.Index(text, "\n"+part); at >= 0 {
		return at + 1
	}
	return -1
}

// hunk replaces lines by others, after the lines of its anchors.
type hunk struct {
	anchors  []string
	old, new string
}

func (s *part) hunks() (all []hunk) {
	h := hunk{}
	var before, now strings.Builder
	close := func() {
		if before.Len() > 0 || now.Len() > 0 {
			h.old, h.new = before.String(), now.String()
			all = append(all, h)
			h = hunk{}
			before.Reset()
			now.Reset()
		}
	}
	for _, line := range s.lines {
		switch {
		case strings.HasPrefix(line, "@@"):
			close()
			if anchor := strings.TrimPrefix(strings.TrimPrefix(line, "@@"), " "); anchor != "" {
				h.anchors = append(h.anchors, anchor)
			}
		case line == patchEOF:
		case strings.HasPrefix(line, "+"):
			now.WriteString(line[1:] + "\n")
		case strings.HasPrefix(line, "-"):
			before.WriteString(line[1:] + "\n")
		default:
			line = strings.TrimPrefix(line, " ") + "\n"
			before.WriteString(line)
			now.WriteString(line)
		}
	}
	close()
	return all
}

// modeOf is the mode of a file that a part writes where there is none: that of the file it moves.
func (p *place) modeOf(s *part) (fs.FileMode, error) {
	if s.to == "" {
		return usualMode, nil
	}
	dir, name, err := p.parent(s.path, false)
	if err != nil {
		return 0, err
	}
	defer dir.close()
	info, err := dir.look(name)
	if err != nil {
		return 0, err
	}
	return info.Mode().Perm(), nil
}

func (p *place) carryOut(s *part) error {
	to := s.path
	if s.to != "" {
		to = s.to
	}
	var written fs.FileInfo
	if s.kind != "D" {
		mode, err := p.modeOf(s)
		if err != nil {
			return err
		}
		dir, name, err := p.parent(to, true)
		if err != nil {
			return err
		}
		if err = dir.replace(name, []byte(s.text), mode); err == nil {
			written, err = dir.root.Lstat(name)
		}
		dir.close()
		if err != nil || to == s.path {
			return err
		}
	}
	dir, name, err := p.parent(s.path, false)
	if err != nil {
		return err
	}
	defer dir.close()
	left, err := dir.look(name)
	if err != nil || written != nil && os.SameFile(written, left) { // two names of one file, where case does not count
		return err
	}
	return errors.Join(dir.root.Remove(name), dir.sync())
}
