package main

import (
	"bufio"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var heapAlloc = regexp.MustCompile(`(?m)^# HeapAlloc = (\d+)$`)

// The first start reads all migrations, into buffers of 16 MB together. An idle server does not keep them.
func TestServeReleasesTheMemoryOfItsStart(t *testing.T) {
	t.Parallel()
	server := program(t, "serve", "--state-dir", t.TempDir(), "--api", "127.0.0.1:0", "--gateway", "127.0.0.1:0", "--log-level", "debug")
	stdout, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := server.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	logged := make(chan bool, 1)
	go func() {
		defer close(logged)
		logged <- strings.Contains(firstWith(stderr, "released the memory of the start"), "level=DEBUG")
		_, _ = io.Copy(io.Discard, stderr)
	}()
	_, url, _ := strings.Cut(firstWith(stdout, "listening on "), "listening on ")
	if !<-logged || url == "" {
		t.Fatalf("the server at %q ended before it released memory", url)
	}
	answer, err := http.Get(url + "/debug/pprof/heap?debug=1")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	profile, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	found := heapAlloc.FindSubmatch(profile)
	if found == nil {
		t.Fatalf("%s: the profile has no HeapAlloc\n%.500s", answer.Status, profile)
	}
	const most = 14 << 20
	if bytes, err := strconv.Atoi(string(found[1])); err != nil || bytes > most {
		t.Errorf("the heap has %s bytes after the start, want at most %d", found[1], most)
	}
}

// firstWith returns the first line that contains a text, or "" if there is none.
func firstWith(r io.Reader, text string) string {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if strings.Contains(lines.Text(), text) {
			return lines.Text()
		}
	}
	return ""
}
