package main

import (
	"context"
	"fmt"
	"os/exec"
	"strings"

	"github.com/pronto-lab/openclawd/discord/discordtest"
	"github.com/pronto-lab/openclawd/internal/output"
)

func (p *play) print(format string, args ...any) { fmt.Fprintf(p.out, format, args...) }

// Column widths, in terminal cells.
const (
	placeCells = 8
	whoCells   = 6
)

// printMessage prints a message and its place.
func (p *play) printMessage(in string, m *discordtest.Message) {
	indent := strings.Repeat(" ", placeCells+whoCells)
	p.print("%s%s%s\n", padded(in, placeCells), padded(m.Author.Username, whoCells), p.text(m, indent))
}

// explain prints the verdicts below a message.
func (p *play) explain(verdicts string) {
	p.print("%s└ %s\n", strings.Repeat(" ", placeCells+whoCells), verdicts)
}

// text is a message as people read it, without empty lines.
func (p *play) text(m *discordtest.Message, indent string) string {
	lines := strings.FieldsFunc(p.names.Replace(m.Content), func(r rune) bool { return r == '\n' })
	for i := range lines {
		lines[i] = output.Printable(lines[i])
	}
	return strings.Join(lines, "\n"+indent)
}

// padded pads a text with blanks to a width in cells; a Hangul syllable takes two.
func padded(text string, cells int) string {
	return text + strings.Repeat(" ", max(cells-output.Cells(text), 1))
}

// transcript prints the thread as Discord has it.
func (p *play) transcript() {
	thread, _ := p.discord.Channel(p.thread)
	p.print("\n%s\n\n", thread.Name)
	for _, m := range p.written(p.thread) {
		p.print("  %s%s\n", padded(m.Author.Username, whoCells), p.text(&m, strings.Repeat(" ", 2+whoCells)))
	}
}

// keep prints where the page shows the play, and waits until ctx ends.
func (p *play) keep(ctx context.Context) {
	m := p.heard[asked]
	p.print("\nTask-Hub on %s/ui/\n", p.api)
	p.print("why %s/ui/why/%s\n", p.api, m)
	p.print("message https://discord.com/channels/%s/%s/%s\n", p.channel.GuildID, p.thread, m)
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
