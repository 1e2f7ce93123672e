package discordtest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// fileHost is where Discord keeps files.
const fileHost = "cdn.discordapp.com"

// fileRoute is the Route of requests for files.
const fileRoute = "GET /attachments/{channel}/{file}/*"

// fileTime is how long the address of a file is valid.
const fileTime = 24 * time.Hour

// storeFile keeps the content of a posted file, and gives it its id and address. The lock is held.
func (s *Server) storeFile(ch *channel, f *Attachment) {
	f.ID = s.next()
	if f.Content != nil {
		f.Size = len(f.Content)
	}
	path := "/attachments/" + ch.ID + "/" + f.ID + "/" + url.PathEscape(f.Filename)
	s.files[path], f.Content = f.Content, nil
	now := s.now()
	f.URL = fmt.Sprintf("https://%s%s?ex=%x&is=%x&hm=%s&", fileHost, path, now.Add(fileTime).Unix(), now.Unix(), signature(path, now.Add(fileTime).Unix()))
	f.ProxyURL = strings.Replace(f.URL, fileHost, "media.discordapp.net", 1)
}

func signature(path string, until int64) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %x", path, until))
	return hex.EncodeToString(sum[:])
}

// readFile answers a request for a file. What was not signed, or no longer is valid, is not there.
func (s *Server) readFile(c *call) (any, *Error) {
	gone := &Error{Status: http.StatusNotFound, Message: "This content is no longer available."}
	path := c.r.URL.EscapedPath()
	until, err := strconv.ParseInt(c.query("ex"), 16, 64)
	if err != nil || c.query("hm") != signature(path, until) || s.now().Unix() > until {
		return nil, gone
	}
	file, known := s.files[path]
	if !known {
		return nil, gone
	}
	return content{http.DetectContentType(file), file}, nil
}
