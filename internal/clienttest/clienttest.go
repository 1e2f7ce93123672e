// Package clienttest runs clients that others wrote, unmodified from npm, against our servers for tests: see make clients.
// A script prints a line for each step, which the test compares.
package clienttest

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Client is a running script.
type Client struct {
	t       testing.TB
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Scanner
	errors  strings.Builder
}

// Start runs a script with Node, with arguments. The environment variable MODULES names the directory with node_modules.
func Start(ctx context.Context, t testing.TB, script string, args ...string) *Client {
	t.Helper()
	if os.Getenv("MODULES") == "" {
		t.Fatal("MODULES names no directory with node_modules: use make clients")
	}
	c := &Client{t: t, command: exec.CommandContext(ctx, "node", append([]string{script}, args...)...)}
	c.command.Stderr = &c.errors
	in, err := c.command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.in, c.out = in, bufio.NewScanner(out)
	if err := c.command.Start(); err != nil {
		t.Fatal(err)
	}
	return c
}

// Line is the next line that the script prints.
func (c *Client) Line() string {
	c.t.Helper()
	if !c.out.Scan() {
		c.t.Fatalf("the client ended: %s", c.errors.String())
	}
	return c.out.Text()
}

// Wants compares the next line.
func (c *Client) Wants(line string) {
	c.t.Helper()
	if got := c.Line(); got != line {
		c.t.Fatalf("the client says %q, want %q", got, line)
	}
}

// Say writes a line to the script, which waits for it.
func (c *Client) Say(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

// Ends waits for the script, which must succeed.
func (c *Client) Ends() {
	c.t.Helper()
	_ = c.in.Close()
	if err := c.command.Wait(); err != nil {
		c.t.Errorf("the client: %v: %s", err, c.errors.String())
	}
}
