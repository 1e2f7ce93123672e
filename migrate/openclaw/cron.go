package openclaw

const cronPath = "cron/jobs.json"
