package outbound_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/discord/discordtest"
)

// stormRounds is how often the storm breaks out.
const stormRounds = 25

// Discord fails in all ways and the process dies in between: nothing is posted twice or out of order, and each delivery ends as what it
// is.
func TestNothingIsPostedTwiceInAStorm(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	o := open(t)
	ends := &outcomes{}
	o.then[delivery.Reply], o.then[delivery.Request] = ends.then, ends.then
	forum := o.guild.AddChannel("forum", discordtest.ChannelOptions{Type: discordtest.Forum})
	kinds := []string{coordination.TypeThreadCreated, coordination.TypeDiscordSent, coordination.TypeDiscordSendFailed, coordination.TypeWorkReleased,
		coordination.TypeWorkCompleted, coordination.TypeWorkLeased, coordination.TypeWorkDead}

	o.work()
	for round := range stormRounds {
		for _, route := range []string{posting, opening, reading, "GET /guilds/{guild}/threads/active"} {
			for range random.IntN(3) {
				o.Inject(discordtest.Fault{Match: discordtest.Match{Route: route}, After: random.IntN(4), Effect: anyEffect(random, route)})
			}
		}
		place := o.guild.AddChannel(fmt.Sprint("round-", round), discordtest.ChannelOptions{})
		inForum, inThread, plain := o.inThread("a", "b"), o.inThread("c", "d"), o.draft("e", "f")
		inForum.ChannelID, inForum.Open.Starter, inForum.Open.Name = forum.ID, true, fmt.Sprint("round-", round)
		inThread.ChannelID, plain.ChannelID = place.ID, place.ID
		all := map[string]*delivery.Delivery{}
		for name, d := range map[string]*delivery.Delivery{"forum": inForum, "thread": inThread, "plain": plain} {
			all[fmt.Sprint(name, "/", round)] = d
			if d.Open != nil {
				d.Open.ReuseKey = ""
			}
		}
		dies := "" // never
		if random.IntN(2) == 0 {
			dies = kinds[random.IntN(len(kinds))]
		}
		dead := o.log.dieAt(dies)
		for effect, d := range all {
			o.ask(effect, d)
		}
		o.settle(dead, all)
		for effect, d := range all {
			o.judge(effect, d, o.ended(effect))
		}
	}
}

// anyEffect is a fault; one that a look may meet hides nothing.
func anyEffect(random *rand.Rand, route string) discordtest.Effect {
	all := []discordtest.Effect{discordtest.Cut(), discordtest.Unavailable(500), discordtest.TooManyRequests(time.Millisecond, false), discordtest.LoseAnswer()}
	if route == posting || route == opening {
		all = append(all, discordtest.Unavailable(503), discordtest.LoseAnswer(), discordtest.Forbidden())
	}
	return all[random.IntN(len(all))]
}

// settle lets time go by until all deliveries have ended, over the death of the process if it dies.
func (o *fixture) settle(dead <-chan struct{}, all map[string]*delivery.Delivery) {
	o.t.Helper()
	for {
		head, err := o.db.Head(o.ctx)
		if err != nil {
			o.t.Fatal(err)
		}
		open, waits := false, false
		for effect := range all {
			open = open || o.ended(effect) == ""
			events := o.stream(effect)
			last := events[len(events)-1].Type
			waits = waits || last == coordination.TypeWorkReleased || last == coordination.TypeWorkLeaseExpired
		}
		if !open {
			return
		}
		select {
		case <-dead:
			dead = nil
			o.restart()
			continue
		default:
		}
		if waits {
			o.later(time.Second)
		}
		wait, db := make(chan struct{}), o.db // a restart opens another one
		go func() {
			defer close(wait)
			_, _ = db.Wait(o.ctx, head.Seq+1)
		}()
		select {
		case <-wait:
		case <-dead:
			dead = nil
			o.restart()
		}
		if o.ctx.Err() != nil {
			for effect := range all {
				o.t.Errorf("%s: %v", effect, o.history(effect))
			}
			o.t.Fatal("it does not end")
		}
	}
}

// ended is how a delivery has ended, "" if it has not.
func (o *fixture) ended(effectID string) delivery.State {
	o.t.Helper()
	state := delivery.State("")
	for _, e := range o.stream(effectID) {
		switch e.Type {
		case coordination.TypeWorkCompleted:
			return delivery.Done
		case coordination.TypeDiscordDeliveryUnknown:
			state = delivery.Unknown
		case coordination.TypeWorkDead:
			if state == "" {
				state = delivery.Failed
			}
			return state
		}
	}
	return ""
}

// judge compares the end of a delivery with what stands in Discord.
func (o *fixture) judge(effectID string, d *delivery.Delivery, end delivery.State) {
	o.t.Helper()
	places := []string{d.ChannelID}
	if d.Open != nil {
		places = nil
		for _, th := range o.Threads(d.ChannelID) {
			if th.Name == d.Open.Name {
				places = append(places, th.ID)
			}
		}
	}
	if len(places) > 1 {
		o.t.Errorf("%s: %d threads were opened\n%v", effectID, len(places), o.history(effectID))
	}
	var texts []string
	for _, place := range places {
		texts = append(texts, o.texts(place)...)
	}
	if len(texts) > len(d.Messages) || !slices.Equal(texts, d.Messages[:len(texts)]) || end == delivery.Done && len(texts) != len(d.Messages) {
		o.t.Errorf("%s has ended %s with %q in Discord, want the messages once and in order\n%v", effectID, end, texts, o.history(effectID))
	}
}
