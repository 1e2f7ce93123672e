package stepscreen

import (
	"cmp"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/pronto-lab/openclawd/internal/output"
)

// Lines of the screen outside the panes' text: two at the top, one at the bottom, and a title for each pane.
const (
	fixedLines = 3 + panes
	unfocused  = 3 // most lines of a pane without focus
)

// paneHeights returns the number of text lines of each pane.
func (s *Screen) paneHeights() (rooms [panes]int) {
	left := max(s.height-fixedLines, panes)
	for i := range rooms {
		if i != s.pane {
			rooms[i] = min(unfocused, max(1, len(s.texts[i])), left-1)
			left -= rooms[i]
		}
	}
	rooms[s.pane] = left
	return rooms
}

// layout renders the panes' texts for the width of the screen.
func (s *Screen) layout() {
	if s.step == nil {
		return
	}
	s.texts = [panes][]string{eventText(s.step, s.width), relationsText(s.step, s.width), rowsText(s.step, s.width)}
	rooms := s.paneHeights()
	for i := range s.offsets {
		s.offsets[i] = min(s.offsets[i], max(0, len(s.texts[i])-rooms[i]))
	}
}

// View implements tea.Model.
func (s *Screen) View() tea.View {
	var lines []string
	switch {
	case s.help:
		lines = strings.Split(helpText, "\n")
	case s.step != nil:
		lines = s.body()
	}
	for len(lines) < s.height-1 {
		lines = append(lines, "")
	}
	lines = append(lines[:max(0, s.height-1)], s.footer())
	for i := range lines {
		lines[i] = output.Cut(lines[i], s.width)
	}
	view := tea.NewView(strings.Join(lines, "\n"))
	view.AltScreen = true
	view.WindowTitle = "openclawd replay step"
	return view
}

func (s *Screen) body() []string {
	lines := []string{output.Bold(output.Cut(headline(s.step), s.width)), ""}
	if s.step.Wrong {
		lines[1] = output.Red(output.Cut(output.Printable("error: "+cmp.Or(s.step.Trouble, s.step.Event.Type)), s.width))
	}
	titles := [panes]string{
		"event",
		fmt.Sprintf("caused by %d, led to %d", len(s.step.Causes), len(s.step.Effects)),
		output.Count(int64(len(s.step.Changes)), "row") + " changed",
	}
	rooms := s.paneHeights()
	for i, title := range titles {
		text, at, room := s.texts[i], s.offsets[i], rooms[i]
		if below := len(text) - at - room; below > 0 {
			title += fmt.Sprintf(" (%s below)", output.Count(int64(below), "line"))
		}
		if i == s.pane {
			lines = append(lines, output.Bold(titleLine("▸ "+title, s.width)))
		} else {
			lines = append(lines, output.Faint(titleLine("  "+title, s.width)))
		}
		for line := range room {
			if at+line < len(text) {
				lines = append(lines, text[at+line])
			} else {
				lines = append(lines, "")
			}
		}
	}
	return lines
}

// titleLine renders the title line of a pane.
func titleLine(title string, width int) string {
	title = output.Cut(title, width) + " "
	return title + strings.Repeat("─", max(0, width-output.Cells(title)))
}

func (s *Screen) footer() string {
	switch {
	case s.prompt != nil:
		return s.prompt.ask + string(s.prompt.text) + "█"
	case s.job != nil:
		line := s.job.what
		if total := s.job.total.Load(); total > 0 {
			line += fmt.Sprintf(": %s of %s", output.Thousands(s.job.done.Load()), output.Thousands(total))
		}
		return output.Printable(line) + " (esc stops)"
	case s.note != "":
		return output.Printable(s.note)
	}
	return "→ forward  ← back  g go to  e error  / find  tab pane  ? help  q quit"
}

const helpText = `
  right, n     next event              left, p      previous event
  N            ten forward             P            ten back
  ctrl+n       a hundred forward       ctrl+p       a hundred back
  g            go to a seq, a time, an event id, or head
  e            next error              E            previous error
  /            search a type, an agent or a text
  r            repeat the search       R            repeat it backwards

  tab          next pane               shift+tab    previous pane
  up, down     scroll                  pgup, pgdown, home, end

  esc          cancel the running job
  q            quit

  Rows are shown as the event changed them: before -> after.
  Errors are events of something that did not go as intended: failed runs and
  work, refused or unanswered messages, lost posts.

  any key goes back`
