"""The curator's service: questions from people who may not see the table.

Whatever all analysts, the front and a thief of the mailboxes learn together is a function of releases that the population's
ledger paid for, of public declarations, and of who asked what when.

Three processes. The *front* listens: it checks and prices questions (``remote_question``) from the schema alone and puts
them into the inbox; it can open no table and no ledger. The *desk* listens to nobody: it takes rows from the inbox, which
it trusts in nothing, has them paid and answered at public moments (``schedule``), and puts answers, signed, into the
outbox. The *hand* is the desk's child and the only one that looks: pay, look, speak.

===================  ======================================================================================
``config``           the file ``serve.toml``
``limits``           what a question may weigh
``closed``           JSON that anyone may have sent, read or refused
``remote_question``  a question: parsed, checked against a schema, priced, with its digest
``kinds``            the kinds of question, each a procedure of the library; ``model_kinds`` those of models, ``kind`` what
                     they share
``reread_answer``    what an answer says, read again by driving its procedure
``access_tokens``    what analysts prove themselves with
``signing``          what answers are signed with
``mailbox``          the two mailboxes: one writer each
``inbox``            what the front writes and the desk reads
``outbox``           what the desk writes and the front reads, in ``outbox_tables``
``grants``           an analyst's share of a budget: a reservation in the ledger; ``amounts`` as documents hold them
``access``           what the custodian does with analysts, tokens, grants and requests; ``trail`` is the record of it
``register``         tables and populations put where the front reads them
``front``            the process that listens: ``calls`` and their replies, ``visitors`` and how often they call,
                     ``fair_lock`` whose turn it is, ``access_log`` what is noted
``counter``          what the front does for those who ask, by program (``api``, ``described``) or by page (``pages``)
``helper``           a process beside the front that prices and rehearses; ``helping`` is what it does
``desk``             from the inbox to the outbox; ``log`` is what it notes
``taking``           what becomes of a row of the inbox
``weights``          how long classes of questions take, measured on a made-up table (``dummy``, ``dummy_file``)
``schedule``         when a question is answered
``hand``             the child of the desk that pays and looks; ``errands`` is the desk's side of it
``delivery``         signed answers at their moments, and words that say nothing of the table
``heads``            what was seen of ledgers, kept elsewhere
``keeping``          backup, upgrade, calibrate, check; ``deployments`` what is said of a deployment in public
``run``              starts the parts, each as its own user
``remote``           a session with a table behind a service: ``written`` makes its requests, ``wire`` carries them
===================  ======================================================================================
"""
