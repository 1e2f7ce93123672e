package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/cmd/openclawd/apiclient"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/mcp"
	"github.com/pronto-lab/openclawd/projections/toolcalls"
)

func newMCP(p *process) *cobra.Command {
	var probe bool
	servers := newMCPProbe(p, "list", "List the MCP servers of openclaw.json, as the running openclawd sees them", &probe, mcp.Probed.ServerTable)
	servers.Flags().BoolVar(&probe, "probe", false, "start the servers for a moment, beside a running openclawd, to see how they are")
	call := newToolsCall(p)
	call.Example = "  openclawd mcp call files__read_file '{\"path\": \"README.md\"}'"
	return newGroup("mcp", "Show MCP servers, call their tools, and list calls", servers,
		newMCPProbe(p, "tools", "List the tools of MCP servers, which are started for a moment", new(true), mcp.Probed.ToolTable), call, newMCPLog(p), newMCPLogin(p), newMCPLogout(p))
}

func newMCPLogin(p *process) *cobra.Command {
	var stateDir string
	cmd := &cobra.Command{
		Use:   "login SERVER",
		Short: "Grant access to an MCP server with OAuth",
		Long: `Prints an address to open in a browser, and waits until the browser comes back to this machine. Where it cannot, write the address at
which it ends to the terminal. The grant is kept in the state directory, for its owner only; a running openclawd uses it at once.`,
		Example: "  openclawd mcp login web",
		Args:    positional(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := p.configPath(stateDir, nil)
			if err != nil {
				return err
			}
			if err := mcp.LoginFile(cmd.Context(), path, p.getenv, filepath.Dir(path), args[0], mcp.Browser(cmd.InOrStdin(), p.stdout)); err != nil {
				return err
			}
			_, err = fmt.Fprintf(p.stdout, "logged in to MCP server %s\n", args[0])
			return err
		},
	}
	cmd.Flags().StringVar(&stateDir, "state-dir", "", "state `DIR` with the openclaw.json (default ~/.openclaw)")
	return cmd
}

func newMCPLogout(p *process) *cobra.Command {
	var stateDir string
	cmd := &cobra.Command{
		Use:     "logout SERVER",
		Short:   "Forget the access that was granted to an MCP server",
		Example: "  openclawd mcp logout web",
		Args:    positional(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			path, err := p.configPath(stateDir, nil)
			if err != nil {
				return err
			}
			said := "logged out of MCP server %s\n"
			if was, err := mcp.Logout(filepath.Dir(path), args[0]); err != nil {
				return err
			} else if !was {
				said = "there is no login of MCP server %s\n"
			}
			_, err = fmt.Fprintf(p.stdout, said, args[0])
			return err
		},
	}
	cmd.Flags().StringVar(&stateDir, "state-dir", "", "state `DIR` with the openclaw.json (default ~/.openclaw)")
	return cmd
}

// newMCPProbe is a command that shows what servers are like, as a table or in JSON.
func newMCPProbe(p *process, name, short string, start *bool, table func(mcp.Probed) (head []string, rows [][]string)) *cobra.Command {
	var c configCheckFlags
	cmd := &cobra.Command{
		Use:     name + " [SERVER]",
		Short:   short,
		Example: "  openclawd mcp " + name + "\n  openclawd mcp " + name + " files --json",
		Args:    positional(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := p.configPath(c.stateDir, nil)
			if err != nil {
				return err
			}
			probed, err := p.probeMCP(cmd.Context(), c.stateDir, path, strings.Join(args, ""), *start)
			if err != nil {
				return err
			}
			if c.asJSON {
				return output.JSON(p.stdout, probed)
			}
			head, rows := table(probed)
			return output.Table(p.stdout, head, rows)
		},
	}
	cmd.Flags().StringVar(&c.stateDir, "state-dir", "", "state `DIR` with the openclaw.json (default ~/.openclaw)")
	cmd.Flags().BoolVar(&c.asJSON, jsonFlag, false, "print JSON")
	return cmd
}

// probeMCP asks the server of the state directory how its MCP servers are. If none is running, it says so; with start they are started instead.
func (p *process) probeMCP(ctx context.Context, stateDir, path, name string, start bool) (mcp.Probed, error) {
	if !start {
		place, err := p.place(serverFlags{stateDir: stateDir})
		if err != nil {
			return mcp.Probed{}, err
		}
		running, err := place.MCPServers(ctx)
		if err == nil {
			return mcp.Running(running, name)
		}
		if _, alone := errors.AsType[*apiclient.NoServerError](err); !alone {
			return mcp.Probed{}, err
		}
		if _, err := fmt.Fprintln(p.stderr, "openclawd is not running, so no MCP server is: --probe starts them for a moment"); err != nil {
			return mcp.Probed{}, err
		}
	}
	return mcp.ProbeFile(ctx, path, p.getenv, filepath.Dir(path), name, start)
}

func newMCPLog(p *process) *cobra.Command {
	var f listFlags
	var q toolcalls.Query
	cmd := &cobra.Command{
		Use:     "log",
		Short:   "List calls of tools with an outside effect, the newest first",
		Example: "  openclawd mcp log\n  openclawd mcp log --state unknown --server files",
		Args:    positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			q.Limit = f.limit
			calls := list[toolcalls.Call, toolcalls.Call]{
				read:   func(ctx context.Context, tx *sql.Tx) ([]toolcalls.Call, error) { return toolcalls.List(ctx, tx, q) },
				answer: func(r *toolcalls.Call) toolcalls.Call { return *r }, name: "calls", thing: "call", none: "no calls", noMatch: "no such calls",
				head: []string{"CALLED", "STATE", "TOOL", "TOOK", "SESSION", "RUN", "RESULT"}, filtered: q.Server+q.State != "",
				row: func(r *toolcalls.Call, _ time.Time) []string {
					return []string{output.Time(r.CalledAt), r.State, r.Tool, fmt.Sprint(r.Took, " ms"), r.SessionKey, r.RunID, clip(strings.Join(strings.Fields(r.Reason+" "+r.Text), " "), descriptionLetters)}
				},
			}
			return calls.print(cmd.Context(), p, &f)
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&q.Server, "server", "", "only calls of this MCP `SERVER`")
	cmd.Flags().StringVar(&q.State, "state", "", "only calls in this `STATE`: open, ok, error, or unknown if it is not known whether the call had its effect")
	return cmd
}
