package back

import (
	"encoding/base64"
	"encoding/json"

	"github.com/pronto-lab/openclawd/coordination/attach"
)

// Limits of the pictures in one message, in bytes. OpenClaw shows them to models with each call, and a line has to fit into an event if it
// is taken over again.
const (
	maxPicture  = 5_000_000
	maxPictures = 10_000_000 // of all together
)

// image is a picture as OpenClaw's transcripts have it.
type image struct {
	Type     string `json:"type"`
	Data     string `json:"data"`
	MimeType string `json:"mimeType"`
}

// content returns the blocks of a message without those that name stored files, which models of OpenClaw refuse: pictures are written out,
// other files are counted. The text of the message names them all. It is nil if nothing remains.
func (w *writer) content(content json.RawMessage) json.RawMessage {
	var blocks []json.RawMessage
	if len(content) == 0 || json.Unmarshal(content, &blocks) != nil {
		return content
	}
	var kept []json.RawMessage
	room := maxPictures
	for _, raw := range blocks {
		var b struct{ Type, MimeType, SHA256 string }
		_ = json.Unmarshal(raw, &b) // another block stays as it is
		if b.Type != attach.BlockType {
			kept = append(kept, raw)
			continue
		}
		data := w.picture(b.MimeType, b.SHA256, min(room, maxPicture))
		if data == nil {
			w.report.FilesLeft++
			continue
		}
		room -= len(data)
		picture, _ := json.Marshal(image{"image", base64.StdEncoding.EncodeToString(data), b.MimeType}) // texts always marshal
		kept = append(kept, picture)
		w.report.Pictures++
	}
	switch {
	case len(kept) == 0:
		return nil
	case room == maxPictures && len(kept) == len(blocks):
		return content
	}
	content, _ = json.Marshal(kept) // they were valid
	return content
}

// picture reads a stored picture, nil for another file, and one that is larger or cannot be read.
func (w *writer) picture(mimeType, sha256 string, most int) []byte {
	if w.Files == nil || !attach.IsPicture(mimeType) {
		return nil
	}
	data, err := w.Files.Read(sha256, int64(most))
	if err != nil || len(data) == 0 {
		return nil
	}
	return data
}
