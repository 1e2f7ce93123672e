package main

import (
	"regexp"
	"strings"
	"testing"
)

// raw matches what no person should read: ids, mentions as Discord writes them, tags of outcomes and prompts, escapes, and what is left of an
// address whose name was cut.
var raw = regexp.MustCompile(`(?i)\b(?:task|plan|ws)_[0-9a-f]|<[@#]|\[\s*outcome\s*\]|^\s*\[(?:Continue|Define steps|Stuck|No progress|Backlog|Escalation|` +
	`Unblock request|Still blocked\?|Restart|Approved|Rejected)|^\s*\[Goal\]\s*$|\\u[0-9a-f]{4}|^\s*(?:님|씨)?[,.:;]|(?:^|\s)님,|agent:[a-z]+:|[0-9a-f]{8}-[0-9a-f]{4}-`)

// wantReadable checks each text for people in each work session of the sample, in lists, conversations and events, in the status and in search.
func (s *sampleServer) wantReadable(t *testing.T) {
	t.Helper()
	texts, mentions, refs := 0, 0, 0
	var check func(path string, value any)
	check = func(path string, value any) {
		switch value := value.(type) {
		case []any:
			for _, member := range value {
				check(path, member)
			}
		case map[string]any:
			if value["field"] == "taskId" {
				return // the id was searched for
			}
			for key, member := range value {
				if key != "data" { // as stored
					check(path+"."+key, member)
				}
			}
		case string:
			switch {
			case strings.HasSuffix(path, ".mention.userId"):
				mentions++
			case strings.HasSuffix(path, ".ref.title"):
				refs++
			}
			if !isShown(path) {
				return
			}
			texts++
			// A part may go on after a mention or the title of a task; displayText has all of it.
			goesOn := strings.HasSuffix(path, ".displayParts.text") && (strings.HasPrefix(strings.TrimSpace(value), "님") || strings.HasPrefix(value, ": "))
			named := unknownName.ReplaceAllString(value, "${1}X")
			if !goesOn && raw.MatchString(named) {
				t.Errorf("%s: %q", path, value)
			}
		}
	}
	for _, path := range []string{"/api/work-sessions?limit=1000&scope=all", "/api/work-sessions?limit=1000&include=summary&role=conversation.main", "/api/events?limit=1000&scope=all",
		"/api/status", "/api/problems", "/api/work-sessions/search?q=task&limit=100", "/api/events/search?q=outcome&limit=100"} {
		var answer any
		if !s.get(t, path, &answer) {
			t.Fatalf("GET %s: not answered", path)
		}
		check(path, answer)
	}
	if texts < 500 || mentions == 0 || refs == 0 {
		t.Errorf("%d texts, %d mentions and %d references to tasks were read: too few to say anything", texts, mentions, refs)
	}
}

// unknownName matches the display of an unknown user before its title.
var unknownName = regexp.MustCompile(`(@…[0-9]{4}) ?님`)

func isShown(path string) bool {
	for _, end := range []string{".title", ".summary", ".blockedReason", ".reason", ".displayText", ".displayParts.text", ".lastMessage.text", ".snippet.text"} {
		if strings.HasSuffix(path, end) {
			return true
		}
	}
	return false
}
