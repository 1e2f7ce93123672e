package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/pronto-lab/openclawd/mcp/samplemcp"
)

// TestMain lets the test binary be the program: tests of processes start it under its name.
func TestMain(m *testing.M) {
	samplemcp.Main()
	testscript.Main(m, map[string]func(){"openclawd": main, sessionCommand: serveSession, failingDevice: onFailingDevice})
}
