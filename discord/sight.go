package discord

import "github.com/pronto-lab/openclawd/coordination/route"

// Sight are the bots that speak for agents, as coordination/route asks for them. Blind are those that are not connected, are not in the guild, or may
// not view the channel by its permissions, as far as the bots have been told of these; what is not known does not make them blind.
func (b *Bots) Sight(guildID, channelID, threadID string) []route.Bot { panic("stub") }
