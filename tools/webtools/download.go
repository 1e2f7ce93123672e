package webtools

import (
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/tool"
)

// Download writes the file at an address, which a person or program names, and returns the name that it has there; "" if it has none. It
// connects to the same addresses as the tools, in the time of tools.web.fetch. The first error of w ends it. Errors are *tool.Error, w's, or
// the context's.
func (w *Web) Download(ctx context.Context, conf *config.Config, address string, to io.Writer) (name string, err error) {
	own := conf.Tools.Web.Fetch
	ctx, stop := context.WithTimeout(ctx, own.Timeout)
	defer stop()
	file, err := url.Parse(address)
	if err == nil {
		err = checkURL(file)
	}
	if err != nil {
		return "", refused(err)
	}
	client := w.client(own.AllowHosts)
	defer client.CloseIdleConnections()
	answer, err := get(ctx, client, file.String(), "*/*")
	if err != nil {
		return "", failed(ctx, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return "", &tool.Error{Code: tool.CodeUnavailable, Field: "/url", Text: fmt.Sprintf("the file cannot be fetched: HTTP %d", answer.StatusCode), Hint: "check the address"}
	}
	sink := &sink{to: to}
	if _, err := io.Copy(sink, answer.Body); err != nil {
		if sink.err != nil {
			return "", sink.err
		}
		return "", failed(ctx, err)
	}
	return nameIn(answer), nil
}

// sink keeps the error of its writer apart from those of a response.
type sink struct {
	to  io.Writer
	err error
}

func (s *sink) Write(p []byte) (n int, err error) {
	n, s.err = s.to.Write(p)
	return n, s.err
}

// nameIn is the name that an answer gives to its file, or the end of its address.
func nameIn(answer *http.Response) string {
	if _, says, err := mime.ParseMediaType(answer.Header.Get("Content-Disposition")); err == nil && says["filename"] != "" {
		return says["filename"]
	}
	if name := path.Base(answer.Request.URL.Path); name != "/" && name != "." {
		return name
	}
	return ""
}
