package monitor

import (
	"errors"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/coordination"
)

const storedPath = "/api/files"

// maxStoredName is how many characters of a name are suggested for a file.
const maxStoredName = 200

// StoredFiles are the files of messages that lie beside the log.
type StoredFiles interface {
	// Get opens a file by the SHA-256 of its content. An error that is fs.ErrNotExist says that there is none.
	Get(sha256 string) (StoredFile, error)
}

// StoredFile is one of them. Its content is closed by the caller.
type StoredFile struct {
	Content io.ReadSeekCloser
	Type    string // found from the content
	At      time.Time
}

// shownInline are the types that a browser may show itself: none of them runs anything.
var shownInline = map[string]bool{"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true}

// showStored answers GET /api/files/:sha256 with a file that someone sent to an agent. Its content is foreign, so a browser gets it as a
// download of unknown type, except for pictures, and may do nothing else with it.
func (s *Server) showStored(c echo.Context) error {
	id, err := pathID(c, "")
	if err != nil {
		return err
	}
	p := parametersOf(c)
	name := p.first("name")
	if p.err != nil {
		return p.err
	}
	if s.opts.Stored == nil {
		return notStored()
	}
	file, err := s.opts.Stored.Get(id)
	if errors.Is(err, fs.ErrNotExist) {
		return notStored()
	}
	if err != nil {
		return err
	}
	defer file.Content.Close()
	kind, disposition := "application/octet-stream", "attachment"
	if shownInline[file.Type] {
		kind, disposition = file.Type, "inline"
	}
	h := c.Response().Header()
	h.Set(echo.HeaderContentType, kind)
	h.Set(echo.HeaderContentDisposition, mime.FormatMediaType(disposition, map[string]string{"filename": storedName(name, id)}))
	h.Set(echo.HeaderXContentTypeOptions, "nosniff")
	h.Set(echo.HeaderContentSecurityPolicy, "default-src 'none'; sandbox")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set(echo.HeaderCacheControl, "private, no-cache") // a redaction may remove it
	h.Set("ETag", `"`+id+`"`)
	http.ServeContent(c.Response(), c.Request(), "", file.At, file.Content)
	return nil
}

// storedName is the name that a browser suggests for a file: the last part of the one asked for, without what a file system or a header
// gives a meaning to.
func storedName(asked, id string) string {
	asked = asked[strings.LastIndexAny(asked, `/\`)+1:]
	clean := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || strings.ContainsRune(`"<>:|?*`, r) {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(asked, "_"))
	if clean = strings.Trim(clean, ". "); clean == "" {
		return id
	}
	return coordination.Head(clean, maxStoredName)
}

func notStored() *problem {
	return &problem{Status: http.StatusNotFound, Code: "not_found", Message: "No such file", Field: "sha256",
		Hint: "name a file by the sha256 that a message has; it may have been removed by a redaction, or after media.ttlHours"}
}
