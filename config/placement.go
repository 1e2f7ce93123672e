package config

import (
	"fmt"
	"slices"
	"strings"
)

// Values of Placement.On.
const (
	RunsOnServer = "server"
	RunsOnWorker = "worker"
)

// Placement says where an agent's runs are done: here, or by a worker on another machine.
type Placement struct {
	On     string   // RunsOnWorker; "" is on the server
	Labels []string // that the worker must have, all of them; in lower case, in order, without duplicates
}

// Remote reports whether a worker does the runs.
func (p *Placement) Remote() bool { return p.On == RunsOnWorker }

// PlacementOf says where an agent's runs are done. Any id may be given.
func (c *Config) PlacementOf(agentID string) Placement {
	if a := c.AgentNamed(agentID); a != nil {
		return a.Runs
	}
	return Placement{}
}

// Limits of labels.
const (
	MaxLabels = 16
	maxLabel  = 64
)

// NormalizeLabels returns labels as they are compared. err says which one cannot be one.
func NormalizeLabels(labels []string) (normal []string, err error) {
	for _, label := range labels {
		one := strings.ToLower(strings.TrimSpace(label))
		if one == "" || len(one) > maxLabel || strings.ContainsFunc(one, func(c rune) bool { return !isLabelRune(c) }) {
			return nil, fmt.Errorf("%q is no label", clip(maskText(label)))
		}
		normal = append(normal, one)
	}
	slices.Sort(normal)
	if normal = slices.Compact(normal); len(normal) > MaxLabels {
		return nil, fmt.Errorf("%d labels are too many", len(normal))
	}
	return normal, nil
}

func isLabelRune(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || strings.ContainsRune("._-/", c)
}

// LabelHint says what labels are.
const LabelHint = "use at most 16 labels of a-z, 0-9, . _ - and /, at most 64 each, such as gpu"

func decodePlacement(f *fields) Placement {
	p := Placement{On: f.choice("on", RunsOnServer, RunsOnWorker)}
	labels, err := NormalizeLabels(f.texts("labels"))
	p.Labels = labels
	v := f.object.get("labels")
	switch {
	case v == nil:
	case err != nil:
		f.report.add(failure(CodeValue, v.at, f.at.member("labels"), err.Error(), LabelHint))
	case !p.Remote() && len(labels) > 0:
		f.report.add(warning(CodeValue, v.at, f.at.member("labels"), "the runs are done by the server, so labels have no effect", `set on to "worker", or remove them`))
	}
	f.done()
	if !p.Remote() {
		return Placement{}
	}
	return p
}

// checkWorkerToken refuses a token of workers that would open more than workers need.
func (g *Gateway) checkWorkerToken(auth *fields) {
	v := auth.object.get("workerToken")
	if v == nil || g.Auth.Worker == "" || !slices.Contains([]Secret{g.Auth.Token, g.Auth.Password}, g.Auth.Worker) {
		return
	}
	g.Auth.Worker = ""
	auth.report.add(failure(CodeValue, v.at, auth.at.member("workerToken"), "the token of workers is also that of the gateway",
		"set it to another long random text, such as one that openssl rand -hex 32 prints"))
}
