package rest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// turn is one message of the conversation a client sends.
type turn struct {
	role   string // one of the roles below
	name   string // of a tool
	text   string
	images []image
}

// Roles of turns.
const (
	system    = "system"
	user      = "user"
	assistant = "assistant"
	toolRole  = "tool"
)

// roleOf normalizes a client's role, "" if unknown.
func roleOf(written string) string {
	switch written {
	case system, "developer":
		return system
	case toolRole, "function":
		return toolRole
	case user, assistant:
		return written
	}
	return ""
}

type image struct {
	Type     string `json:"type"`
	MimeType string `json:"mimeType"`
	Data     string `json:"data"` // base64
}

// runInput is a run's input: one message, and additions to the system prompt.
type runInput struct {
	message string
	content json.RawMessage // the message as blocks, if it has images
	extra   string
}

// fold condenses a conversation to one message: the user's last, with the others quoted around it. ok is false if
// there is no user message.
func fold(turns []turn) (s runInput, ok bool, err error) {
	current := -1
	var extra []string
	for i, t := range turns {
		switch {
		case t.role == system && coordination.TrimJS(t.text) != "":
			extra = append(extra, t.text)
		case t.role == user && (coordination.TrimJS(t.text) != "" || len(t.images) > 0):
			current = i
		}
	}
	if current < 0 {
		return runInput{}, false, nil
	}
	asked := turns[current]
	s = runInput{message: asked.text, extra: strings.Join(extra, "\n\n")}
	if before, after := quote(turns[:current]), quote(turns[current+1:]); before != "" || after != "" {
		var b strings.Builder
		if before != "" {
			b.WriteString("Earlier in this conversation:\n\n" + before + "\n")
		}
		b.WriteString("The message to answer now:\n\n" + asked.text + "\n")
		if after != "" {
			b.WriteString("\nSince that message:\n\n" + after)
		}
		s.message = strings.TrimSuffix(b.String(), "\n")
	}
	if len(asked.images) > 0 {
		s.content, err = blocksOf(s.message, asked.images)
	}
	return s, true, err
}

func blocksOf(text string, images []image) (json.RawMessage, error) {
	var blocks []any
	if text != "" {
		blocks = append(blocks, Block{"text", text})
	}
	for _, i := range images {
		blocks = append(blocks, i)
	}
	return encoded(blocks)
}

// quote writes turns below each other. Continuation lines are indented, so that nothing in them looks like a turn.
func quote(turns []turn) string {
	var b strings.Builder
	for _, t := range turns {
		text := coordination.TrimJS(t.text)
		if len(t.images) > 0 {
			text = strings.TrimPrefix(fmt.Sprintf("%s\n(%d images)", text, len(t.images)), "\n")
		}
		if t.role == system || text == "" {
			continue
		}
		who := map[string]string{user: "User", assistant: "Assistant", toolRole: "Tool"}[t.role]
		if t.role == toolRole && t.name != "" {
			who += " " + t.name
		}
		fmt.Fprintf(&b, "%s: %s\n", who, strings.ReplaceAll(text, "\n", "\n  "))
	}
	return b.String()
}

const maxImages = 16

// imageOf decodes a data: URL. Other URLs are not fetched: the gateway makes no requests on behalf of clients.
func imageOf(url string) (image, bool) {
	header, data, _ := strings.Cut(url, ",")
	kind, isData := strings.CutPrefix(header, "data:")
	kind, isBase64 := strings.CutSuffix(kind, ";base64")
	kind = strings.ToLower(kind)
	if !isData || !isBase64 || !slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, kind) {
		return image{}, false
	}
	if bytes, err := base64.StdEncoding.DecodeString(data); err != nil || len(bytes) == 0 {
		return image{}, false
	}
	return image{"image", kind, data}, true
}

type part struct {
	Type     string          `json:"type"`
	Text     *string         `json:"text"`
	Refusal  string          `json:"refusal"`
	ImageURL json.RawMessage `json:"image_url"`
}

// readContent reads a text or a list of parts into a turn. at is its place for errors.
func (t *turn) readContent(raw json.RawMessage, at string) *failure {
	if len(raw) == 0 || string(raw) == "null" || json.Unmarshal(raw, &t.text) == nil {
		return nil
	}
	var parts []part
	if json.Unmarshal(raw, &parts) != nil {
		return invalid("`"+at+"` must be a text or a list of parts", at, "invalid_type")
	}
	var texts []string
	for i, p := range parts {
		at := fmt.Sprintf("%s[%d]", at, i)
		switch p.Type {
		case "text", "input_text", "output_text":
			if p.Text == nil {
				return invalid("`"+at+".text` must be a text", at, "invalid_type")
			}
			texts = append(texts, *p.Text)
		case "refusal":
			texts = append(texts, p.Refusal)
		case "image_url", "input_image":
			one, ok := p.image()
			if !ok {
				return invalid("`"+at+"` must have its image as data: URL in base64 (png, jpeg, gif or webp): other addresses are not fetched",
					at, "invalid_image_url")
			}
			t.images = append(t.images, one)
		default:
			return invalid(fmt.Sprintf("`%s` is of type %q, which is not supported: use text and images", at, coordination.Clip(p.Type, maxHeader)), at, "unsupported_content")
		}
	}
	if len(t.images) > maxImages {
		return invalid(fmt.Sprintf("`%s` has more than %d images", at, maxImages), at, "too_many_images")
	}
	t.text = strings.Join(texts, "\n")
	return nil
}

// image reads a part's image: a URL, or an object with one.
func (p *part) image() (image, bool) {
	var url string
	if json.Unmarshal(p.ImageURL, &url) != nil {
		var within struct {
			URL string `json:"url"`
		}
		if json.Unmarshal(p.ImageURL, &within) != nil {
			return image{}, false
		}
		url = within.URL
	}
	return imageOf(url)
}
