package telegramtest

import (
	"fmt"
	"mime"
	"net/http"
	"path"
	"regexp"
	"strings"
)

// Telegram's limits for files, in bytes.
const (
	maxPhoto    = 10 << 20
	maxUpload   = 50 << 20
	maxDownload = 20 << 20
)

// file is a stored file. Its id is another one for each bot in Telegram; here all know the same.
type file struct {
	id, unique string
	path       string
	content    []byte
}

// store keeps a file. folder is photos or documents.
func (s *Server) store(folder, name string, content []byte) *file {
	s.lastID++
	f := &file{id: fmt.Sprintf("BQACAgIAAx%08d", s.lastID), unique: fmt.Sprintf("AgAD%08d", s.lastID), content: content}
	f.path = fmt.Sprintf("%s/file_%d%s", folder, s.lastID, path.Ext(name))
	s.files[f.id] = f
	return f
}

// attachedFile names a part of the form.
var attachedFile = regexp.MustCompile(`^attach://(.+)$`)

// fileOf returns the file of a request: an upload, or the id of a file that Telegram has.
func (s *Server) fileOf(c *call, field, folder string, limit int) (*file, upload, *Error) {
	given := c.text(field)
	attached := attachedFile.FindStringSubmatch(given)
	if attached != nil || given == "" {
		name := field
		if attached != nil {
			name = attached[1]
		}
		u, is := c.files[name]
		switch {
		case !is || u.content == nil:
			return nil, u, badRequest("there is no %s in the request", field)
		case len(u.content) == 0:
			return nil, u, badRequest("file must be non-empty")
		case len(u.content) > limit:
			return nil, u, &Error{Code: http.StatusRequestEntityTooLarge, Description: "Request Entity Too Large"}
		}
		return s.store(folder, u.name, u.content), u, nil
	}
	f := s.files[given]
	if f == nil {
		return nil, upload{}, badRequest("wrong file identifier/HTTP URL specified")
	}
	return f, upload{name: path.Base(f.path)}, nil
}

func (s *Server) sendPhoto(c *call) (any, *Error) {
	ch, d, refusal := s.draftOf(c, "caption", "caption_entities", maxCaption)
	if refusal != nil {
		return nil, refusal
	}
	f, _, refusal := s.fileOf(c, "photo", "photos", maxPhoto)
	if refusal != nil {
		return nil, refusal
	}
	return s.send(c.by, ch, d, f.photo(), nil).shapeFor(c.by), nil
}

func (s *Server) sendDocument(c *call) (any, *Error) {
	ch, d, refusal := s.draftOf(c, "caption", "caption_entities", maxCaption)
	if refusal != nil {
		return nil, refusal
	}
	f, u, refusal := s.fileOf(c, "document", "documents", maxUpload)
	if refusal != nil {
		return nil, refusal
	}
	return s.send(c.by, ch, d, nil, f.document(u.name, u.kind)).shapeFor(c.by), nil
}

func (f *file) photo() []PhotoSize {
	return []PhotoSize{{FileID: f.id, FileUniqueID: f.unique, Width: 800, Height: 600, FileSize: len(f.content)}}
}

func (f *file) document(name, kind string) *Document {
	if kind == "" || kind == "application/octet-stream" {
		if known := mime.TypeByExtension(path.Ext(name)); known != "" {
			kind, _, _ = strings.Cut(known, ";")
		}
	}
	return &Document{FileID: f.id, FileUniqueID: f.unique, FileName: name, MimeType: kind, FileSize: len(f.content)}
}

type fileShape struct {
	FileID       string `json:"file_id"`
	FileUniqueID string `json:"file_unique_id"`
	FileSize     int    `json:"file_size"`
	FilePath     string `json:"file_path"`
}

func (s *Server) getFile(c *call) (any, *Error) {
	f := s.files[c.text("file_id")]
	switch {
	case f == nil:
		return nil, badRequest("invalid file_id")
	case len(f.content) > maxDownload:
		return nil, badRequest("file is too big")
	}
	return fileShape{FileID: f.id, FileUniqueID: f.unique, FileSize: len(f.content), FilePath: f.path}, nil
}

// download serves TOKEN/PATH.
func (s *Server) download(w http.ResponseWriter, rest string) {
	token, name, _ := strings.Cut(rest, "/")
	s.mu.Lock()
	by := s.byToken(token)
	var found *file
	for _, f := range s.files {
		if f.path == name {
			found = f
		}
	}
	s.mu.Unlock()
	switch {
	case by == nil || by.revoked:
		write(w, http.StatusUnauthorized, unauthorized())
	case found == nil:
		write(w, http.StatusNotFound, &Error{Code: http.StatusNotFound, Description: "Not Found"})
	default:
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = w.Write(found.content) // a client that has left reads nothing
	}
}
