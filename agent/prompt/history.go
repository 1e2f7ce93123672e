package prompt

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/agent/llm"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/attach"
	"github.com/pronto-lab/openclawd/projections/sessions"
)

// History converts a transcript, the oldest message first, into messages for a model. Redacted messages are dropped,
// messages of the system count as the agent's, and of an interrupted answer the recorded part counts. There is room for
// one message more.
func History(messages []*sessions.Message) []llm.Message {
	all := make([]llm.Message, 0, len(messages)+1)
	for _, m := range messages {
		if !m.Redacted {
			all = append(all, Message(&m.Data))
		}
	}
	return llm.Paired(all)
}

// Message converts one message of a transcript.
func Message(m *coordination.SessionMessage) llm.Message {
	blocks := blocksOf(m.Content)
	said := llm.Message{Text: textOf(m.Text, blocks)}
	switch m.Author {
	case "user":
		said.Role, said.Images = llm.User, imagesOf(blocks)
	case "tool":
		said.Role, said.ToolCallID, said.ToolName, said.IsError = llm.ToolRole, m.ToolCallID, m.ToolName, m.IsError
	default:
		said.Role, said.ToolCalls = llm.Assistant, callsOf(blocks)
	}
	return said
}

// block is a part of a message. Members of an unexpected type are blank.
type block struct {
	Type      string
	Text      string
	ID, Name  string
	Arguments json.RawMessage
	MediaType string
	Data      string

	Key, Unmade string
	Nth         int
	SHA256      string // of a file
}

func blocksOf(content json.RawMessage) (blocks []block) {
	var all []json.RawMessage
	if len(content) == 0 || json.Unmarshal(content, &all) != nil {
		return nil
	}
	for _, one := range all {
		var members map[string]json.RawMessage
		if json.Unmarshal(one, &members) != nil {
			continue
		}
		b := block{Type: text(members["type"]), Text: text(members["text"]), ID: text(members["id"]), Name: text(members["name"]),
			Arguments: members["arguments"], MediaType: text(members["mimeType"]), Data: text(members["data"]),
			Key: text(members["key"]), Unmade: text(members["unmade"]), SHA256: text(members["sha256"])}
		if json.Unmarshal(members["nth"], &b.Nth) != nil || b.Nth < 0 {
			b.Nth = 0
		}
		var source map[string]json.RawMessage
		if b.Data == "" && json.Unmarshal(members["source"], &source) == nil {
			b.Data, b.MediaType = text(source["data"]), text(source["media_type"])
		}
		blocks = append(blocks, b)
	}
	return blocks
}

// text decodes a JSON string; it is "" for anything else.
func text(raw json.RawMessage) (s string) {
	if len(raw) > 0 && raw[0] == '"' {
		_ = json.Unmarshal(raw, &s) // raw is JSON already
	}
	return s
}

// textOf joins the texts of blocks; it is own if there are none.
func textOf(own string, blocks []block) string {
	var parts []string
	for i := range blocks {
		if blocks[i].Type == "text" && blocks[i].Text != "" {
			parts = append(parts, blocks[i].Text)
		}
	}
	if len(parts) == 0 {
		return own
	}
	return strings.Join(parts, "\n\n")
}

func callsOf(blocks []block) (calls []llm.ToolCall) {
	seen := map[string]bool{}
	for i := range blocks {
		b := &blocks[i]
		if b.Type != "toolCall" || b.ID == "" || b.Name == "" || seen[b.ID] {
			continue
		}
		seen[b.ID] = true
		arguments := cmp.Or(text(b.Arguments), string(b.Arguments)) // a string holds the model's own text
		call := llm.NewToolCall(b.ID, b.Name, arguments)
		call.Malformed = "" // it was answered already, or is Unmade
		call.Key, call.Unmade, call.Nth = b.Key, b.Unmade, b.Nth
		calls = append(calls, call)
	}
	return calls
}

// Limits of the pictures that are read for one prompt.
const (
	maxPictures     = 8
	maxPictureBytes = 20 << 20 // of all together
)

// Show reads the pictures of messages that lie beside the log, the newest first, within the limits. Others are left out: their messages
// name them. read returns nil for a picture that it cannot read; a nil read reads none.
func Show(messages []llm.Message, read func(sha256 string) []byte) {
	left, room := maxPictures, maxPictureBytes
	for i := range slices.Backward(messages) {
		var shown []llm.Image
		for _, image := range messages[i].Images {
			if image.SHA256 == "" {
				shown = append(shown, image)
				continue
			}
			if read == nil || left == 0 {
				continue
			}
			if image.Data = read(image.SHA256); len(image.Data) > 0 && len(image.Data) <= room {
				left, room = left-1, room-len(image.Data)
				shown = append(shown, image)
			}
		}
		messages[i].Images = shown
	}
}

// imagesOf returns the pictures that can be decoded, and those to be read by Show.
func imagesOf(blocks []block) (images []llm.Image) {
	for i := range blocks {
		b := &blocks[i]
		if b.Type == attach.BlockType && b.SHA256 != "" && attach.IsPicture(b.MediaType) {
			images = append(images, llm.Image{MediaType: b.MediaType, SHA256: b.SHA256})
			continue
		}
		if b.Type != "image" || !strings.HasPrefix(b.MediaType, "image/") {
			continue
		}
		if data, err := base64.StdEncoding.DecodeString(b.Data); err == nil && len(data) > 0 {
			images = append(images, llm.Image{MediaType: b.MediaType, Data: data})
		}
	}
	return images
}
