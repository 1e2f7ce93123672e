package config

import (
	"strings"
	"time"
)

// Limits of numbers, to detect typing errors.
const (
	maxCount = 1_000_000
	maxPort  = 65535
)

// maxPingPongTurns is the maximum number of turns two agents may take without anyone else.
const maxPingPongTurns = 30

// decode reads every setting from the tree, and reports all faults.
func (c *Config) decode(tree *value, r *report) {
	c.decodeRoot((&fields{report: r}).below(tree, nil))
	c.indexAgents()
}

func (c *Config) decodeRoot(root *fields) {
	c.decodeAgents(root.within("agents"))
	c.decodeBindings(root)
	c.decodeSession(root.within("session"))
	c.decodeTools(root.within("tools"))
	c.decodeChannels(root.within("channels"))
	c.decodeModels(root.within("models"))
	c.decodeMCP(root.within("mcp"))
	c.decodeGateway(root.within("gateway"))
	c.decodeTaskMonitor(root.within("taskMonitor"))
	c.decodeUI(root.within("ui"))
	c.decodeMessages(root.within("messages"))
	c.decodeMedia(root.within("media"))
	c.decodeCron(root.within("cron"))
	c.decodeHooks(root.within("hooks"))
	c.decodeSkills(root.within("skills"))
	c.decodeCluster(root.within("cluster"))
	if model := root.modelChoice("defaultModel"); c.Defaults.Model.Primary == "" { // as in 2026.2
		c.Defaults.Model = model
	}
	root.others("accessGroups", "acp", "approvals", "attachments", "audio", "audit", "auth", "broadcast", "browser", "cloudWorkers", "commands",
		"commitments", "desktop", "fleet", "identity", "memory", "nodeHost", "plugins", "proxy",
		"secrets", "security", "talk", "transcripts", "tts", "vault", "web")
	root.aside("canvasHost", "cli", "crestodian", "diagnostics", "discovery", "logging", "meta", "surfaces", "telemetry", "update", "wizard",
		"worktreeAcceleration", "worktreeRoot")
	root.knows("$schema", "env", "discord")
	checkMistypedAgents(root)
	root.done()
	c.checkAgentNames(root)
	c.checkAccountNames(root)
	c.checkSlackPaths(root)
	checkMisplaced(root)
}

func (c *Config) decodeBindings(root *fields) {
	root.each("bindings", func(f *fields) {
		b := Binding{AgentID: f.text("agentId", "")}
		match := f.within("match")
		b.Channel = match.text("channel", match.text("provider", "")) // its older name
		b.AccountID = match.text("accountId", match.text("accountID", ""))
		b.decodePlace(match)
		match.others("parentPeer")
		match.done()
		f.others("type", "comment", "acp", "session")
		f.done()
		c.Bindings = append(c.Bindings, b)
	})
}

// decodePlace reads a binding's conditions besides the account. Peers of channels other than Discord are not checked.
func (b *Binding) decodePlace(match *fields) {
	if b.Channel != "" && !strings.EqualFold(b.Channel, "discord") {
		match.others("peer", "guildId", "teamId", "roles")
		return
	}
	peer := match.within("peer")
	b.PeerKind, b.PeerID = peer.choice("kind", "", "channel", "group", "direct", "dm"), peer.id("id")
	if b.PeerKind == "dm" {
		b.PeerKind = "direct" // its older name
	}
	peer.done()
	b.GuildID, b.Roles, b.TeamID = match.id("guildId"), match.ids("roles"), match.id("teamId")
}

func (c *Config) decodeSession(f *fields) {
	c.Session.Scope = f.choice("scope", "per-sender", "global")
	f.mainKey()
	c.Session.DMScope = f.choice("dmScope", "main", "per-peer", "per-channel-peer", "per-account-channel-peer")
	a2a := f.within("agentToAgent")
	c.Session.MaxPingPongTurns = a2a.count("maxPingPongTurns", 5, 0, maxPingPongTurns)
	for _, key := range []string{"autoTerminate", "retry", "timeout"} {
		a2a.knows(key)
		if v := a2a.object.get(key); v != nil {
			f.report.add(warning(CodeValue, v.at, a2a.at.member(key), "openclawd does not support this: it has no effect",
				"remove it, or leave it if another program reads it"))
		}
	}
	a2a.done()
	f.others("identityLinks", "resetTriggers", "idleMinutes", "reset", "resetByType", "resetByChannel", "sendPolicy", "threadBindings", "maintenance",
		"groupScope", "sharing")
	f.aside("store", "typingIntervalSeconds", "typingMode", "parentForkMaxTokens", "writeLock", "notifyOnCreate")
	f.done()
}

func (c *Config) decodeGateway(f *fields) {
	g := &c.Gateway
	g.Port = f.count("port", 18789, 0, maxPort)
	g.Mode = f.choice("mode", "local", "remote")
	g.Bind = f.bindMode("bind")
	g.CustomHost = f.text("customBindHost", "")
	auth := f.within("auth")
	g.Auth = Auth{
		Mode:     auth.choice("mode", "", "token", "password", "none", "trusted-proxy"),
		Token:    auth.secret("token"),
		Password: auth.secret("password"),
		Worker:   auth.ownSecret("workerToken"),
	}
	if token := f.secret("token"); g.Auth.Token == "" { // its earlier place
		g.Auth.Token = token
	}
	auth.others("allowTailscale", "rateLimit", "trustedProxy", "identityScopes")
	g.checkWorkerToken(auth)
	auth.done()
	workers := f.within("workers")
	if lease := time.Duration(workers.count("leaseSeconds", 30, 2, 600)) * time.Second; workers.object.get("leaseSeconds") != nil {
		g.WorkerLease = lease
	}
	workers.done()
	f.each("conversationSinks", func(f *fields) { g.Sinks = append(g.Sinks, c.decodeSink(f)) })
	ui := f.within("controlUi")
	g.Origins = ui.pageOrigins("allowedOrigins")
	g.PageBase = ui.text("basePath", "")
	ui.aside("enabled", "root", "dangerouslyAllowHostHeaderOriginFallback", "allowInsecureAuth", "dangerouslyDisableDeviceAuth",
		"allowExternalEmbedUrls", "automaticallyFetchFavicons", "chatMessageMaxWidth", "communityInvite", "embedSandbox", "environment", "experimental",
		"github", "toolTitles", "sessionObserver")
	ui.done()
	g.HTTP = decodeHTTP(f.within("http"))
	tools := f.within("tools")
	g.Tools = decodePolicy(tools)
	tools.done()
	f.others("tailscale", "tls", "nodes", "trustedProxies", "allowRealIpFallback", "push", "cliAgents", "portals", "publicOrigin", "roles", "terminal")
	f.aside("remote", "reload", "webchat", "channelHealthCheckMinutes", "channelStaleEventThresholdMinutes", "channelMaxRestartsPerHour",
		"handshakeTimeoutMs")
	f.done()
}

// bindMode reads where the gateway listens. Host names, accepted by older versions, are mapped to modes.
func (f *fields) bindMode(key string) string {
	const loopback, lan = "loopback", "lan"
	hosts := map[string]string{"0.0.0.0": lan, "::": lan, "[::]": lan, "*": lan, "127.0.0.1": loopback, "localhost": loopback, "::1": loopback, "[::1]": loopback}
	if v := f.object.get(key); v != nil && v.kind == text {
		if mode := hosts[strings.ToLower(strings.TrimSpace(v.text))]; mode != "" {
			f.knows(key)
			return mode
		}
	}
	return f.choice(key, loopback, "auto", lan, "custom", "tailnet")
}

func decodeHTTP(f *fields) HTTP {
	endpoints := f.within("endpoints")
	enabled := func(name string) bool {
		endpoint := endpoints.within(name)
		on := endpoint.flag("enabled", false)
		endpoint.others("maxBodyBytes", "maxUrlParts", "maxImageParts", "maxTotalImageBytes", "files", "images")
		endpoint.done()
		return on
	}
	h := HTTP{ChatCompletions: enabled("chatCompletions"), Responses: enabled("responses")}
	endpoints.done()
	h.ModelErrors = f.choice("modelErrors", ModelErrorsText, ModelErrorsHTTP)
	f.others("securityHeaders")
	f.done()
	return h
}

func (c *Config) decodeSink(f *fields) Sink {
	s := Sink{ID: f.text("id", ""), Enabled: f.flag("enabled", false)}
	o := f.within("options")
	ours := false
	is := func(id string) bool {
		ours = ours || s.ID == id
		return s.ID == id || o.schema != nil
	}
	if is(SinkOfDiscord) {
		s.Discord = SinkDiscord{
			GuildID:        o.id("guildId"),
			DefaultChannel: o.id("defaultChannelId"),
			ReportChannel:  o.id("reportChannelId"),
			RouterAccount:  o.text("routerAccountId", c.Discord.reporter()),
			MessageAccount: o.text("messageAccountId", ""),
			NotifyUsers:    o.ids("notifyUserIds"),
			ArchivePolicy:  o.choice("archivePolicy", "never", "24h", "3d", "7d"),
		}
		o.others("eventFilter", "routerModel")
	}
	if is(SinkOfWebhook) {
		s.Webhook = SinkWebhook{URL: o.webhook("url"), Token: o.ownSecret("token"), Events: o.texts("events")}
		if ours && s.Enabled && s.Webhook.URL == "" && o.object.get("url") == nil {
			f.report.add(warning(CodeValue, f.object.at, o.at.member("url"), "the sink has no address: it has no effect", "set it, or enabled to false"))
		}
	}
	if ours {
		o.done()
	}
	f.done()
	return s
}

func (c *Config) decodeTaskMonitor(f *fields) {
	c.TaskMonitor = TaskMonitor{
		Host:           f.text("host", "127.0.0.1"),
		Port:           f.count("port", 3847, 0, maxPort),
		WriteToken:     f.ownSecret("writeToken"),
		ReadToken:      f.ownSecret("readToken"),
		AllowedOrigins: f.origins("allowedOrigins"),
		TaskHubURL:     f.server("taskHubUrl", "http://localhost:3102"),
	}
	f.done()
}
