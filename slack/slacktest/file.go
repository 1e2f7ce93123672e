package slacktest

import (
	"io"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
)

type file struct {
	File
	by       string // user
	declared int    // bytes
	received bool
	content  []byte
	in       []*conversation
}

func (s *Server) addFile(by, name string, declared int) *file {
	f := &file{by: by, declared: declared}
	ext := strings.TrimPrefix(path.Ext(name), ".")
	kind, _, _ := strings.Cut(mime.TypeByExtension(path.Ext(name)), ";")
	if kind == "" {
		kind = "application/octet-stream"
	}
	f.File = File{ID: s.id("F"), Created: s.o.Now().Unix(), Name: name, Title: name, Mimetype: kind, Filetype: ext, Mode: "hosted", User: by}
	f.Private = "http://" + s.address + "/files-pri/" + TeamID + "-" + f.ID + "/download/" + name
	f.Download = f.Private
	s.files[f.ID] = f
	return f
}

func uploadURL(c *call) (answer, *Error) {
	length, err := strconv.Atoi(c.text("length"))
	if err != nil || length <= 0 || c.text("filename") == "" {
		return nil, refuse("invalid_arguments")
	}
	f := c.s.addFile(c.app.user, c.text("filename"), length)
	return answer{"upload_url": "http://" + c.s.address + "/upload/" + f.ID, "file_id": f.ID}, nil
}

// serveUpload takes a file's bytes, alone or as a form.
func (s *Server) serveUpload(w http.ResponseWriter, r *http.Request) {
	content, err := uploaded(r)
	if err != nil {
		http.Error(w, "unreadable", http.StatusBadRequest)
		return
	}
	s.serve(w, r, "upload", "", map[string]string{"file": r.PathValue("file"), "length": strconv.Itoa(len(content))}, func(c *call) result {
		f := s.files[c.text("file")]
		if f == nil || len(content) != f.declared {
			return result{status: http.StatusBadRequest, kind: "text/plain", body: []byte("bad upload")}
		}
		f.content, f.received, f.Size = content, true, len(content)
		return result{status: http.StatusOK, kind: "text/plain", body: []byte("OK - " + strconv.Itoa(len(content)))}
	})
}

func uploaded(r *http.Request) ([]byte, error) {
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/form-data") {
		return io.ReadAll(io.LimitReader(r.Body, maxBody))
	}
	parts, err := r.MultipartReader()
	if err != nil {
		return nil, err
	}
	for {
		part, err := parts.NextPart()
		if err != nil {
			return nil, err
		}
		if part.FileName() != "" {
			return io.ReadAll(io.LimitReader(part, maxBody))
		}
	}
}

func completeUpload(c *call) (answer, *Error) {
	var wanted []struct {
		ID    string `json:"id"`
		Title string `json:"title"`
	}
	if refusal := c.object("files", &wanted); refusal != nil || len(wanted) == 0 {
		return nil, refuse("invalid_arguments")
	}
	var all []*file
	for _, one := range wanted {
		f := c.s.files[one.ID]
		if f == nil || !f.received || f.by != c.app.user {
			return nil, refuse("file_not_found")
		}
		if one.Title != "" {
			f.Title = one.Title
		}
		all = append(all, f)
	}
	if id := c.text("channel_id"); id != "" {
		c.args["channel"] = id
		v, refusal := c.place()
		if refusal != nil {
			return nil, refusal
		}
		d := draft{text: c.text("initial_comment"), threadTS: c.text("thread_ts")}
		if c.share != nil {
			c.s.shareLater(c.share, v, c.app.author(), d, all)
		} else if _, refusal := c.s.share(v, c.app.author(), d, all); refusal != nil {
			return nil, refusal
		}
	}
	told := []map[string]string{}
	for _, f := range all {
		told = append(told, map[string]string{"id": f.ID, "title": f.Title})
	}
	return answer{"files": told}, nil
}

// share posts files. The lock is held.
func (s *Server) share(v *conversation, author Message, d draft, files []*file) (*message, *Error) {
	author.Subtype = "file_share"
	for _, f := range files {
		f.in = append(f.in, v)
		author.Files = append(author.Files, f.File)
	}
	return s.write(v, author, d)
}

// shareLater posts files after release is closed. The lock is held.
func (s *Server) shareLater(release <-chan struct{}, v *conversation, author Message, d draft, files []*file) {
	if s.shut {
		return
	}
	s.parts.Go(func() {
		select {
		case <-s.closed:
			return
		case <-release:
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		_, _ = s.share(v, author, d, files) // a thread that is gone meanwhile has no answer to go to
	})
}

// serveDownload answers with a file's bytes for a token whose bot is where the file was shared; otherwise it leads to
// the page on which people sign in, as Slack does.
func (s *Server) serveDownload(w http.ResponseWriter, r *http.Request) {
	args := map[string]string{"file": strings.TrimPrefix(r.PathValue("file"), TeamID+"-")}
	s.serve(w, r, "download", tokenOf(r, args), args, func(c *call) result {
		f := s.files[c.text("file")]
		if f == nil {
			return result{status: http.StatusNotFound, kind: "text/plain", body: []byte("not found")}
		}
		if c.app != nil && c.app.refusal == "" && c.app.may("files:read") {
			for _, v := range f.in {
				if v.has(c.app.user) {
					return result{status: http.StatusOK, kind: f.Mimetype, body: f.content}
				}
			}
		}
		return result{status: http.StatusOK, kind: "text/html; charset=utf-8", body: []byte("<!DOCTYPE html><html><body>Sign in</body></html>")}
	})
}
