package gateway

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/gateway/wire"
	"github.com/pronto-lab/openclawd/projections/sessions"
)

// Limits of previews.
const (
	maxPreviews         = 64
	maxPreviewItems     = 50
	maxPreviewText      = 2_000
	usualPreviewItems   = 12
	usualPreviewText    = 240
	maxPreviewsRead     = 6 << 20  // bytes read of all messages
	minPreviewRead      = 64 << 10 // bytes read per session
	maxPreviewToolNames = 2
)

type previewParams struct {
	Keys     []string `json:"keys"`
	Limit    int      `json:"limit"`
	MaxChars int      `json:"maxChars"`
}

type previewAnswer struct {
	TS       int64     `json:"ts"`
	Previews []preview `json:"previews"`
}

type preview struct {
	Key    string        `json:"key"`    // as requested
	Status string        `json:"status"` // ok, empty, missing; error for an invalid key
	Items  []previewItem `json:"items"`
}

type previewItem struct {
	Role string `json:"role"` // user, assistant, tool, system, other
	Text string `json:"text"`
}

// previewSessions returns the ends of some sessions' transcripts. An invalid key only affects its own preview.
func (s *Server) previewSessions(ctx context.Context, call *wire.Call) (any, error) {
	p, err := paramsOf[previewParams](call)
	if err != nil {
		return nil, err
	}
	c := s.opts.Configuration.InForce()
	var previews []preview
	var keys []string // session keys; "" if invalid
	for _, asked := range p.Keys {
		if asked = coordination.TrimJS(asked); asked == "" || len(previews) == maxPreviews {
			continue
		}
		one, name := preview{Key: asked, Status: "missing", Items: []previewItem{}}, ""
		if key, err := sessionKeyOf(c, "keys", asked); err != nil {
			one.Status = "error"
		} else {
			name = key.String()
		}
		previews, keys = append(previews, one), append(keys, name)
	}
	items := min(p.Limit, maxPreviewItems)
	if items == 0 {
		items = usualPreviewItems
	}
	chars := min(p.MaxChars, maxPreviewText)
	if chars == 0 {
		chars = usualPreviewText
	}
	ends := make([][]sessions.Message, len(keys))
	transcripts := s.opts.Transcripts.Open()
	err = s.opts.Log.View(ctx, func(tx *sql.Tx) error {
		for i, key := range keys {
			if key == "" {
				continue
			}
			one, err := sessions.ByKey(ctx, tx, key)
			if err != nil {
				return err
			}
			if one == nil {
				continue
			}
			previews[i].Status = "empty"
			if ends[i], err = transcripts.Shown(ctx, tx, one.ID, items, max(minPreviewRead, maxPreviewsRead/len(keys))); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i, messages := range ends {
		for j := range messages {
			if item := previewOf(&messages[j], chars); item.Text != "" {
				previews[i].Items = append(previews[i].Items, item)
				previews[i].Status = "ok"
			}
		}
	}
	if previews == nil {
		previews = []preview{}
	}
	return previewAnswer{s.opts.Now().UnixMilli(), previews}, nil
}

// previewOf summarizes a message: its text, else the tools it calls, else the kind of its content. An empty message
// has no text.
func previewOf(m *sessions.Message, chars int) previewItem {
	switch {
	case m.Archived:
		return previewItem{"other", archivedText}
	case m.Redacted:
		return previewItem{"other", redactedText}
	}
	item := previewItem{Role: m.Data.Author}
	switch item.Role {
	case authorUser, authorAssistant, authorTool, authorSystem:
	default:
		item.Role = "other"
	}
	texts, tools, kind := contentOf(&m.Data)
	text := coordination.TrimJS(strings.Join(texts, "\n"))
	if len(tools) > 0 {
		item.Role = authorTool
	}
	switch {
	case text != "":
	case len(tools) > maxPreviewToolNames:
		text = fmt.Sprintf("call %s +%d", strings.Join(tools[:maxPreviewToolNames], ", "), len(tools)-maxPreviewToolNames)
	case len(tools) > 0:
		text = "call " + strings.Join(tools, ", ")
	case kind != "":
		text = "[" + kind + "]"
	}
	const dots = "..."
	if item.Text = text; len(cutText(text, chars, "")) < len(text) {
		item.Text = cutText(text, chars-len(dots), dots)
	}
	return item
}

// contentOf returns a message's texts, the names of the tools it calls, and the type of its first other block.
func contentOf(m *coordination.SessionMessage) (texts, tools []string, kind string) {
	blocks := blocksOf(m)
	if blocks == nil {
		return []string{m.Text}, nil, ""
	}
	for _, raw := range blocks {
		var block struct{ Type, Text, Name string }
		if json.Unmarshal(raw, &block) != nil {
			continue
		}
		switch {
		case block.Type == "toolCall":
			tools = append(tools, block.Name)
		case coordination.TrimJS(block.Text) != "":
			texts = append(texts, block.Text)
		case kind == "" && block.Type != "text":
			kind = block.Type
		}
	}
	return texts, tools, kind
}
