package gateway

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/pronto-lab/openclawd/coordination/run"
)

const maxImage = 5_000_000

type attachment struct {
	Type     string          `json:"type"`
	MimeType string          `json:"mimeType"`
	FileName string          `json:"fileName"`
	Content  json.RawMessage `json:"content"` // a string: base64, or a base64 data URL
}

// imageBlock is an image in the form models receive.
type imageBlock struct {
	Type     string `json:"type"`
	Data     string `json:"data"` // base64
	MimeType string `json:"mimeType"`
}

// withAttachments returns a message as blocks, nil if it is text only. Anything but an image is refused: no model
// would see it. The type is detected from the bytes.
func withAttachments(text string, raw []json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var blocks []any
	if text != "" {
		blocks = append(blocks, textBlock{"text", text})
	}
	for i, one := range raw {
		block, err := imageOf(i, one)
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, block)
	}
	content, err := encoded(blocks)
	if err == nil && len(content) > run.MaxContent {
		err = invalidRequest("attachments are too large together", fault{Code: "too_large", Field: "attachments", Value: fmt.Sprintf("%d bytes", len(content)),
			Hint: fmt.Sprintf("send at most %d bytes of base64 with one message", run.MaxContent)})
	}
	return content, err
}

func imageOf(i int, raw json.RawMessage) (*imageBlock, error) {
	field, name := fmt.Sprintf("attachments/%d", i), fmt.Sprintf("attachment-%d", i+1)
	refuse := func(code, why, hint string) (*imageBlock, error) {
		return nil, invalidRequest("Error: attachment "+echo(name)+": "+why, fault{Code: code, Field: field, Value: echo(name), Hint: hint})
	}
	var a attachment
	var text string
	if json.Unmarshal(raw, &a) != nil {
		return refuse("invalid_attachment", "must be an object", "give {type, mimeType, fileName, content}")
	}
	switch {
	case a.FileName != "":
		name = a.FileName
	case a.Type != "":
		name = a.Type
	}
	if json.Unmarshal(a.Content, &text) != nil || text == "" {
		return refuse("invalid_attachment", "content must be base64 string", "give the image's bytes as base64")
	}
	if head, rest, cut := strings.Cut(text, ","); cut && strings.HasPrefix(head, "data:") {
		text = rest
	}
	text = strings.TrimSpace(text)
	if size := base64.StdEncoding.DecodedLen(len(text)) - len(text) + len(strings.TrimRight(text, "=")); size > maxImage {
		return refuse("too_large", fmt.Sprintf("exceeds size limit (%d > %d bytes)", size, maxImage), "send a smaller image")
	}
	bytes, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(bytes) == 0 {
		return refuse("invalid_attachment", "invalid base64 content", "give the image's bytes as standard base64, with its padding")
	}
	kind, _, _ := strings.Cut(http.DetectContentType(bytes), ";")
	if !strings.HasPrefix(kind, "image/") {
		return refuse("not_an_image", "only image attachments are supported, and this is "+kind, "send a PNG, JPEG, GIF or WebP")
	}
	return &imageBlock{"image", text, kind}, nil
}
