package demo

import (
	"context"
	"fmt"
	"os/exec"
	"strings"

	"github.com/pronto-lab/openclawd/internal/output"
)

func (p *play) print(format string, args ...any) { fmt.Fprintf(p.out, format, args...) }

// Column widths, in terminal cells.
const (
	placeCells = 10
	whoCells   = 6
)

// printMessage prints a message and its place.
func (p *play) printMessage(in string, m *message) {
	indent := strings.Repeat(" ", placeCells+whoCells)
	p.print("%s%s%s\n", padded(in, placeCells), padded(m.author, whoCells), shown(m, indent))
}

// explain prints the verdicts below a message.
func (p *play) explain(verdicts string) {
	p.print("%s└ %s\n", strings.Repeat(" ", placeCells+whoCells), verdicts)
}

// shown is a message as people read it, without empty lines.
func shown(m *message, indent string) string {
	lines := strings.FieldsFunc(m.text, func(r rune) bool { return r == '\n' })
	for i := range lines {
		lines[i] = output.Printable(lines[i])
	}
	return strings.Join(lines, "\n"+indent)
}

// padded pads a text with blanks to a width in cells; a Hangul syllable takes two.
func padded(text string, cells int) string {
	return text + strings.Repeat(" ", max(cells-output.Cells(text), 1))
}

// transcript prints the threads as the service has them.
func (p *play) transcript() {
	for i, name := range p.threads() {
		p.print("\n%s\n\n", name)
		for _, m := range p.written([]string{inThread, inSecond}[i]) {
			p.print("  %s%s\n", padded(m.author, whoCells), shown(&m, strings.Repeat(" ", 2+whoCells)))
		}
	}
}

// keep prints where the page shows the play, and waits until ctx ends.
func (p *play) keep(ctx context.Context) {
	m := p.heard[asked]
	p.print("\nTask-Hub on %s/ui/\n", p.api)
	p.print("why %s/ui/why/%s\n", p.api, m)
	if link := p.link(m); link != "" {
		p.print("message %s\n", link)
	}
	p.print("Ctrl-C ends it.\n")
	<-ctx.Done()
}

// why prints the answer of openclawd why about a message.
func (p *play) why(ctx context.Context, openclawd, messageID string) error {
	said, err := exec.CommandContext(ctx, openclawd, "why", messageID, "--state-dir", p.dir).CombinedOutput()
	p.print("\n$ openclawd why %s\n\n%s", messageID, said)
	if err != nil {
		return fmt.Errorf("openclawd why %s: %w", messageID, err)
	}
	return nil
}
