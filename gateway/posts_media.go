package gateway

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/gateway/protocol"
)

// Media stores a file to post: one of an agent's workspace, or at a public web address. Errors for the client are *tool.Error or
// *delivery.Refusal.
type Media func(ctx context.Context, agentID string, p *delivery.Post, source string) (delivery.File, error)

// mediaTime limits the storing of all files of a post.
const mediaTime = time.Minute

// maxSource is the size limit of a path or an address, in bytes.
const maxSource = 4096

// source names a file to post.
type source struct{ field, name string }

// media separates the text of a post from the files that it and its parameters name, each of them once.
func (p *postParams) media() (text string, all []source) {
	add := func(field string, names ...string) {
		for _, name := range names {
			name = delivery.SourceOf(name)
			if name != "" && !slices.ContainsFunc(all, func(s source) bool { return s.name == name }) {
				all = append(all, source{field, name})
			}
		}
	}
	text, lines := delivery.SplitMedia(p.Message)
	add("mediaUrl", p.MediaURL)
	add("mediaUrls", p.MediaURLs...)
	add("message", lines...)
	return coordination.TrimJS(text), all
}

func checkMedia(method string, media []source) error {
	refuse := func(s source, value, hint string) error {
		return invalidRequest("invalid "+method+" params: "+s.field+": "+hint, fault{Field: s.field, Value: value, Hint: hint})
	}
	if n := len(media); n > delivery.MaxFiles {
		return refuse(media[n-1], strconv.Itoa(n)+" files", "name at most "+strconv.Itoa(delivery.MaxFiles)+" files")
	}
	for _, s := range media {
		if len(s.name) > maxSource || strings.Contains(s.name, "\x00") {
			return refuse(s, echo(s.name), "give a path or an address of at most "+strconv.Itoa(maxSource)+" bytes")
		}
	}
	return nil
}

// fetchMedia stores the files of a post. Paths are those of the agent's workspace in whose name it is posted, of the default agent without one.
func (s *Server) fetchMedia(ctx context.Context, method string, p *delivery.Post, media []source) error {
	if len(media) == 0 {
		return nil
	}
	if s.opts.Media == nil {
		return notHere("no_files", "no files are posted here: leave out "+media[0].field)
	}
	if err := s.opts.Posts.Check(*p); err != nil {
		return postRefusalOf(method, err)
	}
	agent := p.AgentID
	if agent == "" {
		agent = s.opts.Configuration.InForce().DefaultAgentID()
	}
	fetching, stop := context.WithTimeout(ctx, mediaTime)
	defer stop()
	for _, one := range media {
		f, err := s.opts.Media(fetching, agent, p, one.name)
		if err != nil {
			return mediaRefusalOf(ctx, method, one, err)
		}
		p.Files = append(p.Files, f)
	}
	return nil
}

func mediaRefusalOf(ctx context.Context, method string, s source, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = &tool.Error{Code: tool.CodeUnavailable, Text: "the file did not come within " + mediaTime.String(), Hint: "send it again with the same key"}
	}
	refused, is := errors.AsType[*tool.Error](err)
	if !is {
		return postRefusalOf(method, err)
	}
	why := fault{Code: refused.Code, Field: s.field, Value: echo(s.name), Hint: refused.Hint}
	if refused.Code == tool.CodeUnavailable {
		return &protocol.Error{Code: protocol.CodeUnavailable, Message: "Error: " + s.field + ": " + refused.Text, Details: why}
	}
	return invalidRequest("invalid "+method+" params: "+s.field+": "+refused.Text, why)
}
