package first

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/pronto-lab/openclawd/config"
)

// maxLine bounds the bytes of an answer.
const maxLine = 4 << 10

// Ask asks for the answers that given does not name, each with the current one as default, until they can be used. given are names of flags.
// It ends with ctx, also while it waits for a line; what is typed then is lost.
func Ask(ctx context.Context, in io.Reader, out io.Writer, a Answers, given func(flag string) bool) (Answers, error) {
	lines := typed{ctx: ctx, lines: bufio.NewScanner(in)}
	lines.lines.Buffer(nil, maxLine)
	questions := []struct {
		flag, text, standard string
		answer               func(string) error
	}{
		{"agent", "Name of the first agent", a.Agent, func(s string) error { a.Agent = s; return checkAgent(s) }},
		{"model", "Model as provider/model, with its key in the environment; empty: a built-in script answers", a.Model,
			func(s string) error { a.Model = s; return checkModel(s) }},
		{"port", "Port of the gateway", strconv.Itoa(a.GatewayPort), func(s string) error { return portOf(s, "--port", &a.GatewayPort) }},
		{"api-port", "Port of the API and the web page", strconv.Itoa(a.APIPort), func(s string) error {
			return errors.Join(portOf(s, "--api-port", &a.APIPort), a.Check())
		}},
	}
	for _, q := range questions {
		if given(q.flag) {
			continue
		}
		if err := ask(&lines, out, q.text, q.standard, q.answer); err != nil {
			return a, err
		}
	}
	return a, a.Check()
}

func portOf(text, flag string, port *int) error {
	n, err := strconv.Atoi(text)
	if err != nil {
		return wrongPort(flag, text)
	}
	*port = n
	return checkPort(flag, n)
}

// typed are the lines of a person.
type typed struct {
	ctx   context.Context
	lines *bufio.Scanner
}

// next returns the next line. The end of the input is an error.
func (l *typed) next() (string, error) {
	read := make(chan bool, 1)
	go func() { read <- l.lines.Scan() }()
	select {
	case <-l.ctx.Done():
		return "", l.ctx.Err()
	case more := <-read:
		if !more {
			return "", errors.Join(fmt.Errorf("read the answer: %w", io.ErrUnexpectedEOF), l.lines.Err())
		}
		return strings.TrimSpace(l.lines.Text()), nil
	}
}

// ask repeats a question until the answer can be used, and says what can.
func ask(lines *typed, out io.Writer, text, standard string, answer func(string) error) error {
	for {
		shown := ""
		if standard != "" {
			shown = " [" + standard + "]"
		}
		if _, err := fmt.Fprintf(out, "%s%s: ", text, shown); err != nil {
			return err
		}
		said, err := lines.next()
		if err != nil {
			return err
		}
		if said == "" {
			said = standard
		}
		wrong := answer(said)
		if wrong == nil {
			return nil
		}
		hint := ""
		if setting, is := errors.AsType[*config.SettingError](wrong); is && setting.HintText != "" {
			hint = "; " + setting.HintText
		}
		if _, err := fmt.Fprintf(out, "%v%s\n", wrong, hint); err != nil {
			return err
		}
	}
}
