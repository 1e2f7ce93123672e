package gateway

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/gateway/wire"
	"github.com/pronto-lab/openclawd/projections/session"
)

// Bounds of what previews show, whatever is asked for.
const (
	maxPreviews         = 64
	maxPreviewItems     = 50
	maxPreviewText      = 2_000
	usualPreviewItems   = 12
	usualPreviewText    = 240
	maxPreviewsRead     = 6 << 20  // bytes of all messages that are looked at
	minPreviewRead      = 64 << 10 // bytes of those of one session
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

// preview is how a transcript ends.
type preview struct {
	Key    string        `json:"key"`    // as asked
	Status string        `json:"status"` // ok, empty, missing; error where the key is none
	Items  []previewItem `json:"items"`
}

type previewItem struct {
	Role string `json:"role"` // user, assistant, tool, system, other
	Text string `json:"text"`
}

// previewSessions shows how the transcripts of some sessions end. A key that is none spoils only its own preview.
func (s *Server) previewSessions(ctx context.Context, call *wire.Call) (any, error) {
	p, err := paramsOf[previewParams](call)
	if err != nil {
		return nil, err
	}
	c := s.opts.Configuration.InForce()
	var previews []preview
	var keys []string // of the sessions; "" where the key is none
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
	ends := make([][]session.Message, len(keys))
	err = s.opts.Log.View(ctx, func(tx *sql.Tx) error {
		for i, key := range keys {
			if key == "" {
				continue
			}
			one, err := session.ByKey(ctx, tx, key)
			if err != nil {
				return err
			}
			if one == nil {
				continue
			}
			previews[i].Status = "empty"
			if ends[i], err = session.Shown(ctx, tx, one.ID, items, max(minPreviewRead, maxPreviewsRead/len(keys))); err != nil {
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

// previewOf shows a message: what it says, else which tools it calls, else what else it has. One that has nothing has no text.
func previewOf(m *session.Message, chars int) previewItem {
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

// contentOf gives the texts of a message, the names of the tools that it calls, and the kind of its first block that is neither.
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
