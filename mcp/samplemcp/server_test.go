package samplemcp

import (
	"context"
	"fmt"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// connected is a client of the server, over a pipe in this process.
func connected(t *testing.T) *sdk.ClientSession {
	t.Helper()
	here, there := sdk.NewInMemoryTransports()
	ended := make(chan error, 1)
	ctx, stop := context.WithCancel(context.Background())
	go func() { ended <- newServer(newHandbook()).Run(ctx, there) }()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test"}, nil).Connect(t.Context(), here, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = session.Close()
		stop()
		<-ended
	})
	return session
}

func call(t *testing.T, s *sdk.ClientSession, name string, args map[string]any) (text string, failed bool) {
	t.Helper()
	r, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range r.Content {
		text += part.(*sdk.TextContent).Text
	}
	return text, r.IsError
}

// A page is found by its words, the best one first, and a published one is found afterwards.
func TestHandbook(t *testing.T) {
	t.Parallel()
	s := connected(t)
	if text, _ := call(t, s, "search", map[string]any{"query": "보고서 쓰는 법"}); !strings.HasPrefix(text, "# 보고서 쓰는 법\n") {
		t.Error(text)
	}
	if text, _ := call(t, s, "search", map[string]any{"query": "지표"}); !strings.Contains(text, "없습니다") {
		t.Error(text)
	}
	for _, text := range []string{"하나", "둘"} {
		if said, failed := call(t, s, "publish", map[string]any{"title": "지난주 지표", "text": text}); failed {
			t.Error(said)
		}
		if found, _ := call(t, s, "search", map[string]any{"query": "지표"}); found != "# 지난주 지표\n"+text {
			t.Error(found)
		}
	}
}

// The handbook has a bound. A full one still lets pages be replaced.
func TestHandbookIsBounded(t *testing.T) {
	t.Parallel()
	h := newHandbook()
	for n := range maxPages {
		_, err := h.publish(fmt.Sprint(n), "text")
		if full := n >= maxPages-3; (err != nil) != full {
			t.Fatalf("page %d: %v", n, err)
		}
	}
	if _, err := h.publish("0", "other"); err != nil {
		t.Error(err)
	}
	if found := h.search("other text"); strings.Count(found, "# ") != maxFound {
		t.Error(found)
	}
}
