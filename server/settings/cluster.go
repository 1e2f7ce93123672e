package settings

import (
	"cmp"
	"errors"
	"os"
	"regexp"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/shared/backend"
)

// notInNames are characters that a host name may have and the name of a node may not.
var notInNames = regexp.MustCompile(`[^A-Za-z0-9._-]`)

// ClusterNode is the name of this node: the configured one, else the host name.
func ClusterNode(c *config.Cluster) string {
	host, _ := os.Hostname()
	host = notInNames.ReplaceAllString(host, "-")
	if !config.IsNodeName(host) {
		host = "node"
	}
	return cmp.Or(c.Node, host)
}

// CheckCluster checks the URL of the shared log, without connecting.
func CheckCluster(c *config.Config) config.Findings {
	if !c.Cluster.On() {
		return nil
	}
	_, err := backend.Parse("cluster.log", c.Cluster.Log.Reveal())
	if err == nil {
		return nil
	}
	finding := config.Finding{Severity: config.Error, Code: config.CodeValue, File: c.File, Path: "cluster.log", Message: err.Error()}
	if invalid, is := errors.AsType[*eventstore.InvalidError](err); is {
		finding.Message, finding.Hint = "is not the URL of a shared log", invalid.Hint()
	}
	return config.Findings{finding}
}
