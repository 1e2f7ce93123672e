package main

import (
	"strings"
	"testing"
)

func TestServeMirrorsOnlyWhatItProduces(t *testing.T) {
	t.Parallel()
	for _, flags := range []serveFlags{{follow: true}, {sample: true}} {
		flags.logLevel, flags.logFormat, flags.durability, flags.classifier, flags.pastSize = "info", "text", "full", "v2", pastAsDatabase
		flags.backups.Keep = 1
		opts, err := (&process{getenv: func(string) string { return "" }, stderr: &strings.Builder{}}).options(flags)
		if err != nil || opts.Mirror {
			t.Errorf("%+v: mirror is %v, %v", flags, opts.Mirror, err)
		}
	}
}
