"""The page: labellers answer what the engine asks, operators see how it is doing.

It reads the log and the newest checkpoints, and writes nothing but labels.

bodies      the JSON of the API, figures that of charts and state
questions   open questions, leases, answers
answers     the answers of today
history     what the worker said of itself, as points of curves
desk        all of these together: what the page knows
charts      the desk as data for charts
watching    a thread that follows the log and feeds the desk
clerk       a thread that writes labels and reads observations
models      the newest checkpoints, which shelf finds: opinions (with their reasons) and densities (of beliefs)
letters     a question as a labeller reads it
office      what the routes use, together
routes      the API
exposition  the counters for Prometheus
access      tokens, cookies and failures
guard       what stands before every route, with headers and answering
login       the page that asks for the token
app         all of it as one application
server      the application on a port, with connection and ending
static      the page itself
"""
