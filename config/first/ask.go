package first

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// maxLine bounds the bytes of an answer.
const maxLine = 4 << 10

// Ask asks for the answers that given does not name, each with the current one as default, until they can be used. given are names of flags.
func Ask(in io.Reader, out io.Writer, a Answers, given func(flag string) bool) (Answers, error) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
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
		if err := ask(lines, out, q.text, q.standard, q.answer); err != nil {
			return a, err
		}
	}
	return a, a.Check()
}

func portOf(text, flag string, port *int) error {
	n, err := strconv.Atoi(text)
	if err != nil {
		n = 0
	}
	*port = n
	return checkPort(flag, n)
}

// ask repeats a question until the answer can be used. The end of the input is an error.
func ask(lines *bufio.Scanner, out io.Writer, text, standard string, answer func(string) error) error {
	for {
		shown := ""
		if standard != "" {
			shown = " [" + standard + "]"
		}
		if _, err := fmt.Fprintf(out, "%s%s: ", text, shown); err != nil {
			return err
		}
		if !lines.Scan() {
			return errors.Join(fmt.Errorf("read the answer: %w", io.ErrUnexpectedEOF), lines.Err())
		}
		said := strings.TrimSpace(lines.Text())
		if said == "" {
			said = standard
		}
		wrong := answer(said)
		if wrong == nil {
			return nil
		}
		if _, err := fmt.Fprintf(out, "%v\n", wrong); err != nil {
			return err
		}
	}
}
